"""What is promised: contracts, guarantees, answers, charges and how errors compose."""
