"""Regular expressions over names, in RE2's syntax and, like RE2, in time linear in the name.

Python's own `re` walks back and forth: one unlucky expression of one client would stop the broker for hours.
Whole names are matched and nothing is captured, so an automaton of a few lines does all that is needed.
"""
