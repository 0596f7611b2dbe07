package code

// Events of a run. Their names and payloads are generated.

import "encoding/json"

// Event is the payload of an event: a pointer to one of the event structs, or an *UnknownEvent.
type Event interface {
	// EventType is the name of the event.
	EventType() string
}

// UnknownEvent is the payload of an event that this version does not know.
type UnknownEvent struct {
	// Type is the name of the event.
	Type string

	// Payload are its facts.
	Payload json.RawMessage
}

// EventType is the name of the event.
func (e *UnknownEvent) EventType() string { return e.Type }
