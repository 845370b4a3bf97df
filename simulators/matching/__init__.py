"""The exchange core: listings, matching, the test account, its journal. No wire protocol."""
