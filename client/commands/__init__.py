"""The commands of `halfbyte`, by subject; client.main has them all in a table.

evaluate     run submit profile compile
compare      compare
jobs         watch show open cancel retry list
leaderboard  leaderboard
operations   queue workers drain
machine      up demo worker calibrate
admin        admin ...: keys, secrets, decisions of organisers
"""
