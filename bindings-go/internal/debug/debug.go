// Package debug lets programs of this module open a runtime with the tools for tests and measurements, which is
// not offered to applications.
package debug

// Option is a code.AgentOption; package code sets it when it is initialised, and nothing else does.
var Option any
