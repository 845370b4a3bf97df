"""From an app's tree to its parts: names looked up, types checked, expressions made Python."""
