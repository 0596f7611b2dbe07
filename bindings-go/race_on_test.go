//go:build race

package code

// raceEnabled says whether the detector of data races runs, which holds memory of its own.
const raceEnabled = true
