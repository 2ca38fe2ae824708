"""Small clients of the wire protocol, which write down what they do and see."""
