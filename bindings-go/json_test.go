package code

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

type vector struct {
	Name     string `json:"name"`
	JSON     string `json:"json"`
	Accepted bool   `json:"accepted"`
}

// The same vectors run in every language.
func TestGoldenVectors(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "tests", "conformance", "json", "vectors.json"))
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	agent := openAgent(t)
	for _, vector := range vectors {
		m, err := debugCall(t, agent, "debug.echo", []byte(`{"value":`+vector.JSON+`}`), []byte("beside"))
		if !vector.Accepted {
			if !errors.Is(err, ErrInvalidArgument) {
				t.Errorf("%s: %v", vector.Name, err)
			}
			var arguments arguments
			arguments.add("value", json.RawMessage(vector.JSON))
			encoded, err := arguments.encoded()
			if err == nil {
				_, err = debugCall(t, agent, "debug.echo", encoded, nil)
			}
			if !errors.Is(err, ErrInvalidArgument) {
				t.Errorf("%s, as raw JSON: %v", vector.Name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", vector.Name, err)
			continue
		}
		if !same(parsed(t, []byte(vector.JSON)), parsed(t, m.payload)) || string(m.data) != "beside" {
			t.Errorf("%s: came back as %.80s", vector.Name, m.payload)
		}
	}
}

func parsed(t *testing.T, text []byte) (value any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// same compares values; numbers may be spelled differently and must be equal to the last bit.
func same(left, right any) bool {
	switch left := left.(type) {
	case json.Number:
		right, ok := right.(json.Number)
		if !ok || left == right {
			return ok
		}
		_, leftErr := strconv.ParseInt(left.String(), 10, 64)
		_, rightErr := strconv.ParseInt(right.String(), 10, 64)
		if leftErr == nil && rightErr == nil {
			return false
		}
		x, _ := left.Float64()
		y, _ := right.Float64()
		return math.Float64bits(x) == math.Float64bits(y) || x == 0 && y == 0 && left != "-0" && left != "-0.0"
	case []any:
		right, ok := right.([]any)
		if !ok || len(left) != len(right) {
			return false
		}
		for at := range left {
			if !same(left[at], right[at]) {
				return false
			}
		}
		return true
	case map[string]any:
		right, ok := right.(map[string]any)
		if !ok || len(left) != len(right) {
			return false
		}
		for key := range left {
			if !same(left[key], right[key]) {
				return false
			}
		}
		return true
	default:
		return reflect.DeepEqual(left, right)
	}
}

func TestTextThatIsNotUTF8IsRefused(t *testing.T) {
	session := openSession(t, nil, nil)
	type tagged struct {
		Text string `json:"text"`
	}
	for name, args := range map[string]any{
		"value": m{"a": "\xff"}, "key": m{"\xff": 1}, "surrogate": m{"a": "\xed\xa0\x80"}, "list": []any{"\xff"},
		"struct": tagged{"\xff"}, "pointer": &tagged{"\xff"}, "deep": m{"a": []any{map[string]*tagged{"b": {"\xff"}}}},
		"raw": json.RawMessage("{\"a\":\"\xff\"}"), "NaN": m{"a": math.NaN()}, "channel": m{"a": make(chan int)},
	} {
		if _, err := session.Tool(t.Context(), "debug_noop", args); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, call := range map[string]func() error{
		"name":      func() error { _, err := session.Tool(t.Context(), "\xff", nil); return err },
		"path":      func() error { _, err := session.ReadFile(t.Context(), "\xff"); return err },
		"workspace": func() error { _, err := session.agent.Session(t.Context(), "/\xff", nil); return err },
		"options": func() error {
			_, err := session.agent.Session(t.Context(), t.TempDir(), &SessionOptions{CommandEnv: map[string]string{"A": "\xff"}})
			return err
		},
	} {
		if err := call(); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What only looks like it is not refused: the character U+FFFD, and its escape in raw JSON.
	for _, args := range []any{m{"a": "\uFFFD"}, json.RawMessage(`{"a":"\ufffd"}`), m{"a": `\ufffd`}} {
		if result, err := session.Tool(t.Context(), "debug_noop", args); err != nil || result.ExitCode != 0 {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestArgumentsArriveAsTheyWereGiven(t *testing.T) {
	seen := make(chan string, 1)
	session := openSession(t, &SessionOptions{Tools: []Tool{handling("probe", func(_ context.Context, call *ToolCall) (ToolOutput, error) {
		seen <- string(call.Args)
		return ToolOutput{Output: "<&>\u2028", Metadata: json.RawMessage(`{"big":9007199254740991}`)}, nil
	})}}, nil)
	result := succeeded(t, session, "probe", m{"n": int64(9007199254740991), "text": "<&>\u2028\x00"})
	if args := parsed(t, []byte(wait(t, seen))); !same(args, m{"n": json.Number("9007199254740991"), "text": "<&>\u2028\x00"}) {
		t.Error(args)
	}
	if result.Output != "<&>\u2028" || !strings.Contains(string(result.Metadata), "9007199254740991") {
		t.Errorf("%q, %s", result.Output, result.Metadata)
	}
}

func TestLargeTextTravelsBesideTheJSON(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 1<<18) // 4 MiB
	session := openSession(t, &SessionOptions{Tools: []Tool{emitting("large", text)}}, nil)
	have := evidenceOf(t, succeeded(t, session, "large", nil))
	artifact, err := session.GetArtifact(t.Context(), have.ContentRef)
	if err != nil || artifact == nil || string(artifact.Bytes) != text {
		t.Error("the text did not come back whole", err)
	}
	_, err = debugCall(t, session.agent, "debug.echo", []byte(`{"value":null}`), make([]byte, 64<<20))
	if !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("a message above the limit: %v", err)
	}
}
