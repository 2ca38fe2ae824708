"""This broker's part in the cluster's metadata: the Raft driver, the image it applies, and the controller."""
