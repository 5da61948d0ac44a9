// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

var (
	update     = flag.Bool("update", false, "rewrite the golden files")
	recordFlag = flag.Bool("record", false, "record exchanges with real models")
)

func opens(m model.Model, err error) func() (model.Model, error) {
	return func() (model.Model, error) { return m, err }
}

func TestModelRecordsOrReplays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "testdata", "hello.json")
	hello := func(t testing.TB) {
		m := modeltest.Recorded(t, file, opens(modeltest.Script(modeltest.SayText("hi"), modeltest.SayText("bye")), nil))
		require.Equal(t, "hi", generate(t, m, recAsk("hello")).Text())
		if modeltest.Recording(file) {
			generate(t, m, recAsk("goodbye"))
		}
	}
	t.Setenv("PONTE_RECORD", "")
	fake := inTest(t, hello)
	require.Len(t, fake.problems, 1)
	require.Regexp(t, `modeltest: replay: open .*hello.json: .*; to record again, run the test with PONTE_RECORD=1`, fake.problems[0])

	for _, value := range []string{"1", "hel+o"} {
		t.Setenv("PONTE_RECORD", value)
		require.Empty(t, inTest(t, hello).problems, value)
		require.FileExists(t, file)
	}
	for _, value := range []string{"", "0", "other"} {
		t.Setenv("PONTE_RECORD", value)
		fake := inTest(t, hello)
		require.Empty(t, fake.problems, value)
		require.Contains(t, fake.logs, "1 of 2 exchanges were not used")
	}
	t.Setenv("PONTE_RECORD", "")
	*recordFlag = true
	defer func() { *recordFlag = false }()
	require.True(t, modeltest.Recording(file))
	require.Empty(t, inTest(t, hello).problems)
}

func TestModelFailsTheTest(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.json")
	require.NoError(t, os.WriteFile(broken, []byte("{"), 0o644))
	t.Setenv("PONTE_RECORD", "")
	fake := inTest(t, func(t testing.TB) { modeltest.Recorded(t, broken, nil) })
	require.Contains(t, fmt.Sprint(fake.problems), "unexpected end")

	t.Setenv("PONTE_RECORD", "(")
	require.False(t, modeltest.Recording(broken))
	fake = inTest(t, func(t testing.TB) { modeltest.Recorded(t, broken, nil) })
	require.Contains(t, fmt.Sprint(fake.problems), "PONTE_RECORD is neither 1 nor a regular expression")

	t.Setenv("PONTE_RECORD", "1")
	fake = inTest(t, func(t testing.TB) { modeltest.Recorded(t, broken, opens(nil, errRecBoom)) })
	require.Contains(t, fmt.Sprint(fake.problems), "boom")
	fake = inTest(t, func(t testing.TB) { modeltest.Recorded(t, filepath.Join(broken, "x"), opens(modeltest.Auto(), nil)) })
	require.Len(t, fake.problems, 1)
}

func ExampleRecord() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "capital.json")
	req := &model.Request{Messages: []*model.Message{model.UserText("The capital of Norway?")}}

	recorder := modeltest.Record(modeltest.Script(modeltest.SayText("Oslo")), file) // a real model in a real test
	if _, err := recorder.Generate(context.Background(), req, nil); err != nil {
		fmt.Println(err)
		return
	}
	if err := recorder.Close(); err != nil {
		fmt.Println(err)
		return
	}

	m, err := modeltest.Replay(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	msg, err := m.Generate(context.Background(), req, nil)
	fmt.Println(msg.Text(), err)
	// Output: Oslo <nil>
}

func ExampleReplay() {
	m, err := modeltest.Replay("testdata/capital.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &model.Request{Messages: []*model.Message{model.UserText("The capital of Sweden?")}}
	_, err = m.Generate(context.Background(), req, nil)
	fmt.Println(err)
	// Output:
	// modeltest: replay testdata/capital.json: the request is not in the recording; nearest is exchange 1, except for messages[0].parts[0].text: recorded "The capital of Norway?", now "The capital of Sweden?"; to record again, run the test with PONTE_RECORD=1
}
