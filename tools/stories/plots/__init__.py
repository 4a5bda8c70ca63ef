"""Plots: functions that write one story each into a World."""

from . import duties, friends, making, rescues, things, ventures, wonder

PLOTS = (*things.PLOTS, *duties.PLOTS, *friends.PLOTS, *rescues.PLOTS, *making.PLOTS, *ventures.PLOTS, *wonder.PLOTS)
