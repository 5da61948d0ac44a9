// SPDX-License-Identifier: Apache-2.0

package skills_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/skills"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// Published skills have more in their metadata than texts, and lists where the specification has
// texts. They are used for what can be read.
func TestSkillWithAFieldOfAnotherTypeIsUsed(t *testing.T) {
	files := fstest.MapFS{}
	for name, field := range map[string]string{
		"deep":       `metadata: {"openclaw": {"requires": {"bins": ["gh"]}}, "version": 1.0}`,
		"listed":     "metadata:\n  author: Ada\n  tags: [a, b]",
		"license":    "license: [MIT, Apache-2.0]",
		"compatible": "compatibility: {os: linux}",
		"plain":      "metadata: none",
	} {
		text := "---\nname: " + name + "\ndescription: What it does.\n" + field + "\n---\nDo it."
		files["skills/"+name+"/SKILL.md"] = &fstest.MapFile{Data: []byte(text)}
		s, err := skills.Parse(text)
		require.ErrorContains(t, err, "cannot unmarshal", name)
		require.NotContains(t, err.Error(), "\n", name)
		require.Equal(t, []string{name, "What it does.", "Do it."}, []string{s.Name, s.Description, s.Body})
	}
	// What has no description cannot be listed.
	files["skills/none/SKILL.md"] = &fstest.MapFile{Data: []byte("---\nname: none\ndescription: [a]\n---\nDo it.")}

	used := map[string]bool{}
	script := modeltest.Script(modeltest.SayText("Hello."))
	a, err := agent.New(agent.Config[any, string]{
		Model: script,
		Capabilities: []agent.Capability[any]{skills.New(skills.Options{
			Problem: func(_ context.Context, p skills.Problem) {
				name, _, _ := strings.Cut(p.String(), " ")
				used[name] = p.Used
			},
		}, skills.FS[any](files, "skills"))},
	})
	require.NoError(t, err)
	_, err = a.Run(context.Background(), nil, "Hello!")
	require.NoError(t, err)
	require.Equal(t, map[string]bool{
		"deep": true, "listed": true, "license": true, "compatible": true, "plain": true, "none": false,
	}, used)
	for name := range used {
		require.Equal(t, used[name], strings.Contains(script.Requests()[0].Instructions, "- "+name+": "), name)
	}
}
