"""What tests of stores share."""

from stores import KINDS, urls

url = urls(KINDS)
file_url = urls(["sqlite"])
