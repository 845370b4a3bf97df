"""The live state of the dashboard, of bounded size. No I/O."""
