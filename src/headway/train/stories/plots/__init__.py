"""The plot families: functions that tell one story each into a World."""

from headway.train.stories.plots import friends, things, ventures

PLOTS = (*things.PLOTS, *friends.PLOTS, *ventures.PLOTS)
