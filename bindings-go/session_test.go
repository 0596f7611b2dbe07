package code

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func numbered(format string, from, to int) string {
	var text strings.Builder
	for at := from; at <= to; at++ {
		fmt.Fprintf(&text, format, at)
	}
	return text.String()
}

// once fails unless every number of a range stands in the text exactly once.
func once(t *testing.T, text, format string, from, to int) {
	t.Helper()
	for at := from; at <= to; at++ {
		if want := fmt.Sprintf(format, at); strings.Count(text, want) != 1 {
			t.Fatalf("%q stands %d times in the output", want, strings.Count(text, want))
		}
	}
}

// claims: SURF-02, SRCH-02
func TestDefinitionsAndNamesAgree(t *testing.T) {
	session := openSession(t, nil, nil)
	var defined []string
	for _, definition := range session.ToolDefinitions() {
		defined = append(defined, definition.Name)
		var schema struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(definition.Parameters, &schema); err != nil || schema.Type != "object" {
			t.Errorf("%s: schema %s", definition.Name, definition.Parameters)
		}
	}
	names := session.ToolNames()
	if len(names) == 0 || !slices.Equal(defined, names) {
		t.Errorf("defined %v, named %v", defined, names)
	}
	if !slices.Contains(names, "search") {
		t.Errorf("no search in %v", names)
	}
	for _, name := range []string{"grep", "glob", "bm25", "semantic", "hybrid"} {
		if slices.Contains(names, name) {
			t.Errorf("%s is a tool of its own", name)
		}
	}
	if shown := session.PresentedToolDefinitions(""); len(shown) != len(names) {
		t.Errorf("%d of %d tools are presented", len(shown), len(names))
	}
}

// claims: CTR-01, RES-01, RES-02, RES-03, EVID-01
func TestResultsSayHowACallWent(t *testing.T) {
	session := openSession(t, nil, map[string]string{"a.txt": "one\n"})
	good := succeeded(t, session, "read", m{"file_path": "a.txt"})
	bad := tool(t, session, "read", m{})
	missing := tool(t, session, "read", m{"file_path": "no.txt"})
	if bad.ErrorType() != "invalid_argument" || missing.ErrorType() != "not_found" {
		t.Errorf("kinds %q and %q", bad.ErrorType(), missing.ErrorType())
	}
	for _, result := range []*ToolResult{good, bad, missing} {
		if result.Name != "read" || (result.ExitCode == 0) != (result == good) {
			t.Errorf("name %q, exit code %d", result.Name, result.ExitCode)
		}
		if !json.Valid(result.Metadata) {
			t.Errorf("metadata %s", result.Metadata)
		}
		if have := evidenceOf(t, result).Schema; have != "a3s.code.tool-result-evidence.v1" {
			t.Errorf("evidence has schema %q", have)
		}
	}
	if files, _ := os.ReadDir(session.Workspace()); len(files) != 1 {
		t.Errorf("the refused call left %v", files)
	}
	kind, err := DecodeToolErrorKind(missing.ErrorKind)
	if found, ok := kind.(ToolErrorKindNotFound); err != nil || !ok || found.Path == "" {
		t.Errorf("%#v, %v", kind, err)
	}
}

// claims: EVID-03, EVID-05, EVID-10
func TestEvidenceOfWholeResults(t *testing.T) {
	session := openSession(t, &SessionOptions{Tools: []Tool{
		emitting("same", "grüße\n"), emitting("other", "grüßf\n"),
	}}, nil)
	first := evidenceOf(t, succeeded(t, session, "same", nil))
	again := succeeded(t, session, "same", nil)
	if second := evidenceOf(t, again); first != second {
		t.Errorf("%+v and %+v", first, second)
	}
	if first.OriginalBytes != 8 || first.ProjectedBytes != len(again.Output) || again.Output != "grüße\n" {
		t.Errorf("%+v for %q", first, again.Output)
	}
	if first.LossMode != "none" || !strings.HasSuffix(first.ContentRef, strings.TrimPrefix(first.ContentDigest, "sha256:")) {
		t.Errorf("%+v", first)
	}
	if other := evidenceOf(t, succeeded(t, session, "other", nil)); other.RepeatKey == first.RepeatKey || first.RepeatKey == "" {
		t.Errorf("repeat key %q for both", first.RepeatKey)
	}
}

// claims: EVID-11, PROJ-01
func TestTheOriginalOfACutResultIsKept(t *testing.T) {
	original := numbered("row %06d\n", 1, 20000)
	session := openSession(t, &SessionOptions{Tools: []Tool{emitting("rows", original)}}, nil)
	result := succeeded(t, session, "rows", nil)
	if !strings.HasPrefix(result.Output, original[:100*1024]) || strings.Contains(result.Output, "row 020000") {
		t.Error("the result is not the first 100 KiB")
	}
	have := evidenceOf(t, result)
	if !strings.HasPrefix(have.ContentRef, "a3s://tool-output/") || have.OriginalBytes != len(original) {
		t.Fatalf("%+v", have)
	}
	artifact, err := session.GetArtifact(t.Context(), have.ContentRef)
	if err != nil || artifact == nil {
		t.Fatal(artifact, err)
	}
	if string(artifact.Bytes) != original || artifact.Content != original || artifact.OriginalBytes != int64(len(original)) {
		t.Error("the artifact is not the original")
	}
	if none, err := session.GetArtifact(t.Context(), "a3s://tool-output/none"); none != nil || err != nil {
		t.Errorf("%v, %v for an unknown artifact", none, err)
	}
}

// claims: PROJ-02
func TestAResultThatFitsIsNotTouched(t *testing.T) {
	lines := strings.Repeat("the same line\n", 5000)
	array := "[" + strings.Repeat("1,", 20000) + "1]"
	session := openSession(t, &SessionOptions{Tools: []Tool{emitting("lines", lines), emitting("array", array)}}, nil)
	if succeeded(t, session, "lines", nil).Output != lines || succeeded(t, session, "array", nil).Output != array {
		t.Error("a result below the bound was changed")
	}
}

func policy(most, head, tail int64) *SessionOptions {
	return &SessionOptions{ToolResultTransformPolicy: &ToolResultTransformPolicy{
		Schema:                "a3s.code.tool-result-transform-policy.v1",
		MaxOutputBytes:        most,
		HeadBytes:             head,
		TailBytes:             tail,
		FoldRepeatedLines:     true,
		RepeatedLineThreshold: 3,
		StructuredSampleItems: 32,
	}}
}

// claims: PROJ-16
func TestTheBoundOfAPolicyIsChecked(t *testing.T) {
	agent := openAgent(t)
	for most, accepted := range map[int64]bool{0: false, 102401: false, 102400: true} {
		session, err := agent.Session(t.Context(), t.TempDir(), policy(most, 1024, 1024))
		switch {
		case accepted && err != nil:
			t.Errorf("%d: %v", most, err)
		case !accepted && (session != nil || !errors.Is(err, ErrSessionConfiguration)):
			t.Errorf("%d: %v", most, err)
		}
	}
}

// claims: READ-01, READ-05
func TestTheDocumentedListOfFilesIsRead(t *testing.T) {
	session := openSession(t, nil, map[string]string{
		"src/lib.rs":    "pub mod config;\n",
		"src/config.rs": numbered("// line %03d\n", 0, 199),
	})
	call := between(t, seed(t, "seed-tools.txt"), "{\n  \"files\": [", "\n}")
	result := succeeded(t, session, "read", json.RawMessage(call))
	if !strings.Contains(result.Output, "pub mod config;") {
		t.Error(result.Output)
	}
	once(t, result.Output, "line %03d", 40, 119)
	if have := batchOf(t, result); have.Truncated || strings.Contains(result.Output, "line 120") {
		t.Errorf("%+v", have)
	}
}

type batch struct {
	Truncated    bool            `json:"truncated"`
	Continuation json.RawMessage `json:"continuation"`
}

func batchOf(t *testing.T, result *ToolResult) batch {
	t.Helper()
	var metadata struct {
		Batch batch `json:"batch"`
	}
	if err := result.DecodeMetadata(&metadata); err != nil {
		t.Fatal(err)
	}
	return metadata.Batch
}

// claims: READ-03, READ-04
func TestPartsComeInOrderAndAMissingOneInItsPlace(t *testing.T) {
	session := openSession(t, nil, map[string]string{"big.txt": numbered("big %04d\n", 0, 399), "small.txt": "small one\n"})
	result := succeeded(t, session, "read", m{"files": []m{{"path": "big.txt"}, {"path": "missing.txt"}, {"path": "small.txt"}}})
	big := strings.Index(result.Output, "big 0399")
	missing := strings.Index(result.Output, "missing.txt")
	small := strings.Index(result.Output, "small one")
	if big < 0 || missing < big || small < missing {
		t.Errorf("big at %d, missing at %d, small at %d", big, missing, small)
	}
}

// claims: READ-05, READ-06
func TestTheContinuationOfABatchYieldsEveryLineOnce(t *testing.T) {
	session := openSession(t, nil, map[string]string{
		"a.txt": numbered("aa-%04d and some filler text\n", 0, 199),
		"b.txt": numbered("bb-%04d and some filler text\n", 0, 199),
	})
	var files any = []m{{"path": "a.txt"}, {"path": "b.txt", "offset": 40, "limit": 80}}
	var all strings.Builder
	for page := 0; ; page++ {
		if page == 60 {
			t.Fatal("the continuation does not end")
		}
		result := succeeded(t, session, "read", m{"files": files, "max_output_bytes": 2048})
		all.WriteString(result.Output)
		have := batchOf(t, result)
		if page == 0 && !have.Truncated {
			t.Fatal("everything fits")
		}
		if !have.Truncated {
			break
		}
		files = have.Continuation
	}
	once(t, all.String(), "aa-%04d", 0, 199)
	once(t, all.String(), "bb-%04d", 40, 119)
}

// claims: READ-08
func TestALongFileIsReadToItsEnd(t *testing.T) {
	session := openSession(t, nil, map[string]string{"long.txt": numbered("row-%05d\n", 0, 4999)})
	var all strings.Builder
	args := m{"file_path": "long.txt"}
	for page := 0; ; page++ {
		if page == 20 {
			t.Fatal("the file does not end")
		}
		result := succeeded(t, session, "read", args)
		all.WriteString(result.Output)
		var metadata struct {
			Range struct {
				Next int64 `json:"next_offset"`
				EOF  bool  `json:"eof"`
			} `json:"range"`
		}
		if err := result.DecodeMetadata(&metadata); err != nil {
			t.Fatal(err)
		}
		if metadata.Range.EOF {
			break
		}
		args["offset"] = metadata.Range.Next
	}
	once(t, all.String(), "row-%05d", 0, 4999)
}

// claims: CTR-07
func TestALargeFolderIsListedToItsEnd(t *testing.T) {
	files := map[string]string{}
	for at := range 450 {
		files[fmt.Sprintf("d/f%04d.txt", at)] = ""
	}
	session := openSession(t, nil, files)
	args := m{"path": "d", "limit": 100}
	var all strings.Builder
	for page := 0; ; page++ {
		if page == 12 {
			t.Fatal("the folder does not end")
		}
		result := succeeded(t, session, "ls", args)
		all.WriteString(result.Output)
		var metadata struct {
			Page struct {
				Next any `json:"next_cursor"`
			} `json:"page"`
		}
		if err := result.DecodeMetadata(&metadata); err != nil {
			t.Fatal(err)
		}
		if metadata.Page.Next == nil {
			if page == 0 {
				t.Fatal("everything fits")
			}
			break
		}
		args["cursor"] = metadata.Page.Next
	}
	once(t, all.String(), "f%04d.txt", 0, 449)
}

// claims: SRCH-09, SRCH-20
func TestSearchFindsLinesAndPaths(t *testing.T) {
	session := openSession(t, nil, map[string]string{"src/a.rs": "fn alpha() {}\nfn beta() {}\n", "b.txt": "alphabet\n"})
	lines := succeeded(t, session, "search", m{"mode": "grep", "query": "fn a.*a\\("}).Output
	if !strings.Contains(lines, "fn alpha() {}") || strings.Contains(lines, "beta") || strings.Contains(lines, "alphabet") {
		t.Error(lines)
	}
	paths := succeeded(t, session, "search", m{"mode": "glob", "query": "**/*.rs"}).Output
	if !strings.Contains(paths, "src/a.rs") || strings.Contains(paths, "b.txt") {
		t.Error(paths)
	}
}

// claims: DIRECT-02, DIRECT-03, DIRECT-05
func TestHelpersReturnWhatTheyPromise(t *testing.T) {
	session := openSession(t, nil, map[string]string{
		"README.md": "# Title\r\nsecond line", "src/b.rs": "struct Other;\n",
		"src/a.rs": "struct PermissionPolicy;\nuse PermissionPolicy;\n",
	})
	ctx := t.Context()
	paths, err := session.Glob(ctx, "src/**/*.rs")
	if err != nil || !slices.Equal(paths, []string{"src/a.rs", "src/b.rs"}) {
		t.Error(paths, err)
	}
	hits, err := session.Grep(ctx, "PermissionPolicy")
	if want := "src/a.rs:1:struct PermissionPolicy;\nsrc/a.rs:2:use PermissionPolicy;"; err != nil || strings.TrimSpace(hits) != want {
		t.Errorf("%q, %v", hits, err)
	}
	text, err := session.ReadFile(ctx, "README.md")
	if err != nil || text != "# Title\r\nsecond line" {
		t.Errorf("%q, %v", text, err)
	}
	text, err = session.ReadFile(ctx, "README.md", ReadFileOptions{Offset: Ptr[int64](1), Limit: Ptr[int64](1)})
	if err != nil || text != "second line" {
		t.Errorf("%q, %v", text, err)
	}
	result, err := session.LS(ctx, "src")
	if err != nil || !strings.Contains(result.Output, "a.rs") {
		t.Error(result.Output, err)
	}
	if result, err = session.LS(ctx, ""); err != nil || !strings.Contains(result.Output, "README.md") {
		t.Error(result.Output, err)
	}
	for path, want := range map[string]error{
		"no.md": ErrNotFound, "../outside": ErrInvalidArgument, filepath.Join(session.Workspace(), "README.md"): nil,
	} {
		if _, err := session.ReadFile(ctx, path); !errors.Is(err, want) && !(err == nil && want == nil) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// claims: SURF-19
func TestActiveToolsListsWhatRuns(t *testing.T) {
	session := openSession(t, nil, nil)
	if active, err := session.ActiveTools(t.Context()); err != nil || len(active) != 0 {
		t.Errorf("idle: %v, %v", active, err)
	}
	ended := make(chan error)
	go func() {
		_, err := session.Tool(t.Context(), "debug_wait", m{"ms": 300})
		ended <- err
	}()
	eventually(t, "the call's appearance", func() bool {
		active, err := session.ActiveTools(t.Context())
		return err == nil && len(active) == 1 && active[0].Name == "debug_wait" && active[0].StartedAtMS > 0
	})
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if active, err := session.ActiveTools(t.Context()); err != nil || len(active) != 0 {
		t.Errorf("after: %v, %v", active, err)
	}
}

func TestGovernedCallsAskForPermission(t *testing.T) {
	session := openSession(t, nil, map[string]string{"a.txt": "one\n"})
	read, err := session.GovernedTool(t.Context(), "read", m{"file_path": "a.txt"})
	if err != nil || read.ExitCode != 0 {
		t.Error(read.Output, err)
	}
	denied := openSession(t, &SessionOptions{
		PermissionPolicy: &PermissionPolicy{Deny: []PermissionRule{"read"}},
	}, map[string]string{"a.txt": "one\n"})
	refused, err := denied.GovernedTool(t.Context(), "read", m{"file_path": "a.txt"})
	if err != nil || refused.ErrorType() != "permission_denied" {
		t.Error(refused.Output, err)
	}
}

func TestOptionsReachTheSession(t *testing.T) {
	agent := openAgent(t)
	session, err := agent.Session(t.Context(), "label", &SessionOptions{
		SessionID:        "mine",
		WorkspaceBackend: WorkspaceBackendMemory{Files: map[string]MemoryFile{"a.txt": MemoryFile("one\n"), "b.bin": {0xff}}},
	})
	if err != nil || session.SessionID() != "mine" {
		t.Fatal(session, err)
	}
	if text, err := session.ReadFile(t.Context(), "a.txt"); err != nil || text != "one\n" {
		t.Errorf("%q, %v", text, err)
	}
	if ids, err := agent.ListSessions(t.Context()); err != nil || !slices.Equal(ids, []string{"mine"}) {
		t.Error(ids, err)
	}
	_, err = agent.Session(t.Context(), t.TempDir(), &SessionOptions{ToolTimeoutMS: Ptr[int64](0)})
	var failure *Error
	if !errors.As(err, &failure) || failure.Code != CodeSessionConfiguration || !strings.Contains(string(failure.Details), `"field"`) {
		t.Error(err)
	}
	if _, err := agent.Session(t.Context(), filepath.Join(t.TempDir(), "none"), nil); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if closed, err := agent.CloseSession(t.Context(), "mine"); err != nil || !closed || !session.IsClosed() {
		t.Error(closed, err)
	}
	if len(agent.SdkCapabilities()) == 0 {
		t.Error("no capabilities")
	}
}
