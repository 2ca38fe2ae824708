"""What the model of docs/scaling.md is made of: the costs that grow with cores, brokers and clients."""
