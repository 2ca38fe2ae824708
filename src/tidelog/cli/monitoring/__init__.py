"""`tidelog monitoring`: alert rules, dashboards and runbooks, as files and on the screen."""
