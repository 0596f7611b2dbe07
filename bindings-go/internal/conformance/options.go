package main

// The wire's options as the structs of the package. Decoding through the structs keeps unknown keys
// visible: an option that Go does not have is reported, not dropped.

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/a3s-lab/code/bindings-go"
)

// decodeOptions gives the options, or the name of one that Go has no field for.
func decodeOptions(wire map[string]json.RawMessage) (options *code.SessionOptions, missing string, err error) {
	options = &code.SessionOptions{}
	plain := map[string]json.RawMessage{}
	for key, raw := range wire {
		switch key {
		case "sandbox":
			options.Sandbox, err = sandbox(raw)
		case "workspaceBackend":
			options.WorkspaceBackend, err = backend(raw)
		case "permissionPolicy":
			options.PermissionPolicy, err = policy(raw)
		default:
			plain[key] = raw
		}
		if err != nil {
			return nil, "", fmt.Errorf("option %s: %w", key, err)
		}
	}
	for key, raw := range plain {
		one, err := json.Marshal(map[string]json.RawMessage{key: raw})
		if err != nil {
			return nil, "", err
		}
		if err := strictly(one, options); err != nil {
			return nil, key, nil
		}
	}
	return options, "", nil
}

// gitPositions is what the helper git takes in order where it takes no object.
var gitPositions = []string{
	"command", "subcommand", "name", "path", "newBranch", "base", "force", "maxCount", "message",
	"includeUntracked", "target", "ref",
}

func gitOptions(args []json.RawMessage) (options code.GitOptions, err error) {
	if len(args) > 0 && bytes.HasPrefix(bytes.TrimSpace(args[0]), []byte("{")) {
		return options, strictly(args[0], &options)
	}
	named := map[string]json.RawMessage{}
	for at, arg := range args {
		if at == len(gitPositions) {
			return options, fmt.Errorf("%d of them", len(args))
		}
		named[gitPositions[at]] = arg
	}
	encoded, err := json.Marshal(named)
	if err != nil {
		return options, err
	}
	return options, strictly(encoded, &options)
}

func strictly(raw []byte, target any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	return decoder.Decode(target)
}

func sandbox(raw json.RawMessage) (*code.SandboxSettings, error) {
	var word code.SandboxMode
	if json.Unmarshal(raw, &word) == nil {
		return &code.SandboxSettings{Mode: word}, nil
	}
	var settings code.SandboxSettings
	return &settings, strictly(raw, &settings)
}

// policy accepts rules as text and as objects.
func policy(raw json.RawMessage) (*code.PermissionPolicy, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	for _, key := range []string{"allow", "ask", "deny"} {
		var rules []json.RawMessage
		if fields[key] == nil || json.Unmarshal(fields[key], &rules) != nil {
			continue
		}
		texts := make([]string, len(rules))
		for at, rule := range rules {
			var object struct {
				Rule string `json:"rule"`
			}
			if json.Unmarshal(rule, &texts[at]) != nil && json.Unmarshal(rule, &object) == nil {
				texts[at] = object.Rule
			}
		}
		fields[key], _ = json.Marshal(texts)
	}
	encoded, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	var decoded code.PermissionPolicy
	return &decoded, strictly(encoded, &decoded)
}

func backend(raw json.RawMessage) (code.WorkspaceBackend, error) {
	var memory struct {
		Type         string                     `json:"type"`
		Files        map[string]json.RawMessage `json:"files"`
		Capabilities []code.WorkspaceCapability `json:"capabilities"`
	}
	if err := json.Unmarshal(raw, &memory); err != nil {
		return nil, err
	}
	if memory.Type != "memory" {
		return code.DecodeWorkspaceBackend(raw)
	}
	files := map[string]code.MemoryFile{}
	for path, content := range memory.Files {
		var text string
		var object struct {
			Base64 string `json:"base64"`
		}
		if json.Unmarshal(content, &text) == nil {
			files[path] = code.MemoryFile(text)
			continue
		}
		if err := json.Unmarshal(content, &object); err != nil {
			return nil, err
		}
		decoded, err := base64.StdEncoding.DecodeString(object.Base64)
		if err != nil {
			return nil, err
		}
		files[path] = decoded
	}
	return code.WorkspaceBackendMemory{Files: files, Capabilities: memory.Capabilities}, nil
}
