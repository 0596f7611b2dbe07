package code

// JSON on its way out. What encoding/json would change in silence, text that is not UTF-8, is refused.

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"unicode/utf8"
)

// encode writes a value as JSON, without escaping for HTML.
func encode(name string, value any) ([]byte, error) {
	if text, ok := value.(string); ok && !utf8.ValidString(text) {
		return nil, invalidArgument(name, "is not UTF-8")
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		failure := invalidArgument(name, "cannot be written as JSON: %v", err)
		failure.wrapped = err
		return nil, failure
	}
	encoded := bytes.TrimSuffix(out.Bytes(), []byte{'\n'})
	// encoding/json writes this escape for bytes that are not UTF-8. A caller may also have written it
	// in raw JSON, so what was given decides.
	if bytes.Contains(encoded, []byte(`\ufffd`)) && holdsInvalidText(reflect.ValueOf(value)) {
		return nil, invalidArgument(name, "holds text that is not UTF-8")
	}
	return encoded, nil
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// holdsInvalidText looks for text that is not UTF-8. The value was encoded before, so it has no cycles.
func holdsInvalidText(value reflect.Value) bool {
	if !value.IsValid() {
		return false
	}
	kind := value.Kind()
	if kind == reflect.String {
		return !utf8.ValidString(value.String())
	}
	if kind == reflect.Pointer || kind == reflect.Interface {
		return !value.IsNil() && holdsInvalidText(value.Elem())
	}
	if own := value.Type(); own.Implements(jsonMarshaler) || own.Implements(textMarshaler) {
		return kind == reflect.Struct && exportedFieldsHoldInvalidText(value)
	}
	switch kind {
	case reflect.Map:
		for entries := value.MapRange(); entries.Next(); {
			if holdsInvalidText(entries.Key()) || holdsInvalidText(entries.Value()) {
				return true
			}
		}
	case reflect.Slice, reflect.Array:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			return false
		}
		for at := range value.Len() {
			if holdsInvalidText(value.Index(at)) {
				return true
			}
		}
	case reflect.Struct:
		return exportedFieldsHoldInvalidText(value)
	}
	return false
}

func exportedFieldsHoldInvalidText(value reflect.Value) bool {
	for at := range value.NumField() {
		if field := value.Type().Field(at); field.IsExported() || field.Anonymous {
			if holdsInvalidText(value.Field(at)) {
				return true
			}
		}
	}
	return false
}

// arguments builds the object of a call's arguments. The first failure is kept and returned at the end.
type arguments struct {
	json []byte
	data []byte // travels beside the JSON
	err  error
}

// add adds an argument.
func (a *arguments) add(name string, value any) {
	if a.err != nil {
		return
	}
	encoded, err := encode(name, value)
	if err != nil {
		a.err = err
		return
	}
	if len(a.json) == 0 {
		a.json = append(a.json, '{')
	} else {
		a.json = append(a.json, ',')
	}
	a.json = append(a.json, '"')
	a.json = append(a.json, name...)
	a.json = append(a.json, `":`...)
	a.json = append(a.json, encoded...)
}

// addBytes adds the text that travels beside the JSON.
func (a *arguments) addBytes(name, text string) {
	if a.err == nil && !utf8.ValidString(text) {
		a.err = invalidArgument(name, "is not UTF-8")
	}
	a.data = []byte(text)
}

// addText adds a text; an empty one is left out.
func (a *arguments) addText(name, text string) {
	if text != "" {
		a.add(name, text)
	}
}

// encoded closes the object.
func (a *arguments) encoded() ([]byte, error) {
	if a.err != nil {
		return nil, a.err
	}
	if len(a.json) == 0 {
		return nil, nil
	}
	return append(a.json, '}'), nil
}

// addOptions adds the options of a variadic parameter, which may be given once.
func addOptions[T any](a *arguments, name string, options []T) {
	switch {
	case len(options) == 1:
		a.add(name, &options[0])
	case len(options) > 1 && a.err == nil:
		a.err = invalidArgument(name, "may be given once")
	}
}

// object is a tool's arguments: nil stands for none.
func object(args any) any {
	if args == nil {
		return struct{}{}
	}
	return args
}

// Ptr gives a pointer to a value, for optional fields.
func Ptr[T any](value T) *T { return &value }
