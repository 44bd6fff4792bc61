"""For backends of other leaderboards: halfbyte as one more launcher of theirs."""
