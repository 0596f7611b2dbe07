"""Generated from the contract; see the modules."""
