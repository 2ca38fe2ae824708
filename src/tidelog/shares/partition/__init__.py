"""A share partition: the records of one partition as the members of one group take and acknowledge them."""
