"""`tidelog topic reassign`: plans, moves, their pace and progress."""
