"""Promise: when there is not enough time for every tuple, those that matter most come first."""
