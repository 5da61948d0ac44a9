// SPDX-License-Identifier: Apache-2.0

package skills

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// The names of the tools.
const (
	ToolLoadSkill     = "load_skill"
	ToolReadSkillFile = "read_skill_file"
)

const (
	loadDescription = "Load the instructions of a skill. Call this before you begin a task that fits the skill's description."
	readDescription = "Read a text file of a skill that is not in the working directory."
)

// maxShown bounds what a tool returns at a time, in bytes.
const maxShown = 64 << 10

type loadArgs struct {
	Name string `json:"name" jsonschema_description:"The name of the skill." validate:"required,max=200"`
}

func (c *catalogue[D]) loadSkill(ctx context.Context, run *toolset.RunContext[D], in loadArgs) (string, error) {
	e, err := c.find(ctx, run.Deps, in.Name)
	if err != nil {
		return "", err
	}
	return c.show(ctx, &e)
}

// frame finds what could be taken for the frame around a skill.
var frame = regexp.MustCompile(`(?i)<(\s*/?\s*skill\b)`)

// show returns what the model is told about a skill.
func (c *catalogue[D]) show(ctx context.Context, e *entry) (string, error) {
	files, err := e.folder.files(ctx)
	if err != nil && fatal(ctx, err) {
		return "", fmt.Errorf("skills: %w", err)
	}
	files = slices.DeleteFunc(files, func(name string) bool { return name == skillFile })
	body, cut := clean.Cut(clean.Text(e.Body), maxShown)
	var b strings.Builder
	fmt.Fprintf(&b, "<skill name=%q>\n%s", e.Name, frame.ReplaceAllString(body, "&lt;$1"))
	if !strings.HasSuffix(body, "\n") {
		b.WriteByte('\n')
	}
	b.WriteString("</skill>")
	if cut {
		fmt.Fprintf(&b, "\n\n[Cut here: the first %d bytes of %s are shown.]", len(body), skillFile)
	}
	dir := clean.Short(e.folder.dir, 400)
	if dir != "" {
		fmt.Fprintf(&b, "\n\nThe directory of the skill is %s. Paths in the skill are relative to it.", dir)
	}
	if len(files) == 0 {
		return b.String(), nil
	}
	how := "Read them with " + ToolReadSkillFile + ". To run a script, write it to the working directory first."
	if dir != "" {
		how = "Read them with " + workspace.ToolReadFile + "; run scripts with " + workspace.ToolRunCommand + "."
	}
	fmt.Fprintf(&b, "\n\nFiles of the skill. %s", how)
	for i, name := range files {
		if i == maxListed {
			b.WriteString("\n[There are more.]")
			break
		}
		b.WriteString("\n- " + clean.Short(name, 300))
	}
	return b.String(), nil
}

type readArgs struct {
	Skill  string `json:"skill" jsonschema_description:"The name of the skill." validate:"required,max=200"`
	Path   string `json:"path" jsonschema_description:"The file, relative to the skill's directory." validate:"required,max=1000"`
	Offset int64  `json:"offset,omitempty" jsonschema_description:"The first byte to read. Default: 0." validate:"min=0"`
}

func (c *catalogue[D]) readFile(ctx context.Context, run *toolset.RunContext[D], in readArgs) (string, error) {
	e, err := c.find(ctx, run.Deps, in.Skill)
	if err != nil {
		return "", err
	}
	name := strings.TrimPrefix(in.Path, "./")
	switch {
	case e.folder.dir != "":
		return "", toolset.Failed("The skill %s is in the working directory. Read %s/%s with %s.", e.Name, clean.Short(e.folder.dir, 400), clean.Short(name, 300), workspace.ToolReadFile)
	case !fs.ValidPath(name):
		return "", toolset.Failed("%q is not the path of a file of the skill %s.", clean.Short(in.Path, 300), e.Name)
	}
	data, more, err := e.folder.read(ctx, name, in.Offset, maxShown)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", toolset.Failed("The skill %s has no file %s.", e.Name, clean.Short(name, 300))
	case err != nil && fatal(ctx, err):
		return "", fmt.Errorf("skills: read %q of %s: %w", name, e.Name, err)
	case err != nil:
		return "", toolset.Failed("Could not read %s of the skill %s.", clean.Short(name, 300), e.Name)
	}
	if more {
		data = clean.Whole(data)
	}
	for n := 1; n < utf8.UTFMax && in.Offset > 0 && len(data) > 0 && !utf8.RuneStart(data[0]); n++ {
		data, in.Offset = data[1:], in.Offset+1 // of a character that began before
	}
	if !utf8.Valid(data) || slices.Contains(data, 0) {
		return "", toolset.Failed("Could not read %s of the skill %s: it is not text.", clean.Short(name, 300), e.Name)
	}
	text := clean.Text(string(data))
	if more {
		text += fmt.Sprintf("\n\n[Cut here. To read on, call %s with offset %d.]", ToolReadSkillFile, in.Offset+int64(len(data)))
	}
	return text, nil
}

// command lists the skills, or makes a prompt of one.
func (c *catalogue[D]) command(ctx context.Context, call agent.CommandCall[D]) (agent.CommandResult, error) {
	name, task := call.Args, ""
	if end := strings.IndexFunc(name, unicode.IsSpace); end >= 0 {
		name, task = name[:end], name[end:]
	}
	if name != "" {
		e, err := c.find(ctx, call.Deps, name)
		if err != nil {
			var failed *toolset.FailedError
			var retry *toolset.RetryError
			switch {
			case errors.As(err, &failed):
				return agent.CommandResult{Notice: failed.Message}, nil
			case errors.As(err, &retry):
				return agent.CommandResult{Notice: "U" + strings.TrimPrefix(retry.Message, "u")}, nil
			}
			return agent.CommandResult{}, err
		}
		text, err := c.show(ctx, &e)
		if err != nil {
			return agent.CommandResult{}, err
		}
		prompt := "Use this skill:\n\n" + text
		if task = strings.TrimSpace(task); task != "" {
			prompt += "\n\n" + task
		}
		return agent.CommandResult{Prompt: prompt}, nil
	}
	found, wrong, err := c.list(ctx, call.Deps)
	if err != nil {
		return agent.CommandResult{}, err
	}
	lines := []string{"Skills:"}
	for _, e := range found {
		lines = append(lines, "- "+e.Name+": "+clean.Short(e.Description, 200))
	}
	if len(found) == 0 {
		lines = []string{"There are no skills."}
	}
	for _, used := range []bool{false, true} {
		title := map[bool]string{false: "Left out:", true: "Used, but not quite as they should be:"}[used]
		for _, p := range wrong {
			if p.Used != used {
				continue
			}
			if title != "" {
				lines, title = append(lines, title), ""
			}
			lines = append(lines, "- "+p.String())
		}
	}
	return agent.CommandResult{Notice: strings.Join(lines, "\n")}, nil
}
