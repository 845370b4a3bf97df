"""The exchange itself: listings, matching, the test account, its journal. No wire protocol."""
