"""The structural-probe study: which layers hold trees."""
