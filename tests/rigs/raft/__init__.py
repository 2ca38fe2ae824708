"""A quorum in a box: Raft nodes, dumb disks, a network in the test's hands, and checks of Raft's promises."""
