"""`tidelog quota`: limits of users, client ids and addresses."""
