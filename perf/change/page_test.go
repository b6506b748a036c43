package change

// The text of QUALITY.md around its numbers.
const (
	qualityHead = `# How good the detector of changes is

Simulated: make quality writes this page, and the tests of the package hold a sample of it to what it says.

## Noisy numbers

A run differs from the next by %.0f %%, standard deviation. A night's number is the median of %d runs as a share of
that of as many runs of the pinned build. %d series-years without a change for each noise, then %d series for each
step, which begins on night 41. What is heavy is scaled to the same deviation, a bad night takes 10 %% off the number
and 5 %% off the pinned build, and what drifts from night to night adds another 1 %%, which the pinned build does not
have.

False alarms are counted after confirmation and per 1000 series-years, with the end of their one-sided 95 %% interval.
What a suspicion costs is in runs per series and night. Of a step: the share that is confirmed within two nights, the
first included, and the nights in which half of them are, and nine of ten; – is more than 180.

| noise | false alarms | suspected nights | runs | step 0.5 %% | 1 %% | 2 %% | 5 %% |
|:--|--:|--:|--:|--:|--:|--:|--:|
`
	qualityPaired = `
## Exact and paired numbers

An exact number that differs is a change, in the night in which it does, and nothing else is one. A paired number that
is the same to the bit is none. Where a change of the program makes all of fifty numbers differ seed by seed, by 1 %
over 16 seeds, but moves one of them only, this is how often that one is found the same night, and in how many nights
another is taken for changed (bound: 5 % of the changes on average):

| step | found | nights with a false one |
|--:|--:|--:|
`
	qualityOthers = `
## Beside others

Share of series of 180 nights without any change that raised at least one alarm. The others look at one point a night,
with their default settings: FD.io's jumpavg, Apache Otava, Mozilla's Perfherder, which needs 12 later points, and a
rank CUSUM. Of two modes there are no figures.

| noise | here | jumpavg | Otava | Perfherder | rank CUSUM |
|:--|--:|--:|--:|--:|--:|
`
	qualityTail = `
Mozilla publishes that 12.5 % of its groups of alerts are false.

## Why

A false alarm needs a suspicion, a look of 4 + 4 runs that points the same way, and a rank test of 12 + 12 runs (up to
48 + 48 while it promises) at 5·10^-5 for all rounds together. Runs of both builds in turns are exchangeable where
nothing has changed, whatever the noise, so that the last factor holds for any. What a step costs in nights is decided
by the runs, not by the nights: a suspicion is cheap and comes early.
`
)
