"""What pages share: tables, times, money, actions, signing in."""
