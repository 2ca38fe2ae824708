"""`tidelog up` and `tidelog broker`: one broker in the foreground, and what a person sees of it."""
