// SPDX-License-Identifier: Apache-2.0

package skills

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ponte-go/ponte/toolset/workspace"
)

const (
	// maxFolders bounds the folders of one source.
	maxFolders = 500
	// maxListed bounds the files of a skill that are listed, and maxFileDepth how deep they are
	// looked for.
	maxListed    = 100
	maxFileDepth = 4
)

// skillFile is the name of the file that makes a folder a skill.
const skillFile = "SKILL.md"

// Source is where skills come from: see [Workspace], [FS] and [Code]. The zero value has none.
type Source[D any] struct {
	name string
	err  error
	// list returns the folders, find one by its name, or nil.
	list func(ctx context.Context, deps D) ([]*folder, error)
	find func(ctx context.Context, deps D, name string) (*folder, error)
}

// folder is a folder that may be a skill.
type folder struct {
	name string
	// where says for people where the folder is. dir is its path in the workspace, or empty.
	where, dir string
	// files opens its files: paths are relative, with slashes.
	read  func(ctx context.Context, name string, offset int64, limit int) (data []byte, more bool, err error)
	files func(ctx context.Context) ([]string, error)
}

// load returns the skill of a folder. A problem is an error that is not fatal. A warning is what
// breaks the rules but does not keep the skill from being used, as the guide for clients of
// agentskills.io has it.
func (f *folder) load(ctx context.Context) (s Skill, warning, err error) {
	data, more, err := f.read(ctx, skillFile, 0, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, workspace.ErrNotDirectory):
		return Skill{}, nil, err
	case err != nil:
		return Skill{}, nil, fmt.Errorf("%s cannot be read: %w", skillFile, err)
	case more:
		return Skill{}, nil, fmt.Errorf("%s is larger than %d bytes", skillFile, maxFile)
	}
	s, warning = Parse(string(data))
	if s.Description == "" || !utf8.ValidString(s.Body) {
		return Skill{}, nil, warning
	}
	if checkName(s.Name) != nil { // the folder's name is as good
		s.Name = f.name
		if checkName(f.name) != nil {
			return Skill{}, nil, warning
		}
	}
	switch {
	case s.Name == f.name:
	case strings.ContainsFunc(f.name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return Skill{}, nil, fmt.Errorf("the folder is called %q", f.name)
	case warning == nil:
		warning = fmt.Errorf("the name is %q, the folder is called %q; they should be the same", s.Name, f.name)
	}
	return s, warning, nil
}

// Workspace returns the skills in the folders of directories of a workspace. The default directory
// is ".agents/skills". A directory that does not exist has none. session returns the session of a
// run, as for [workspace.Tools].
func Workspace[D any](session func(deps D) *workspace.Session, dirs ...string) Source[D] {
	if len(dirs) == 0 {
		dirs = []string{".agents/skills"}
	}
	s := Source[D]{name: "workspace"}
	if session == nil {
		s.err = errors.New("skills: Workspace: the function is nil")
		return s
	}
	files := func(deps D) workspace.Workspace {
		if work := session(deps); work != nil && work.Workspace() != nil && readable(work.Workspace()) && len(work.Workspace().Roots()) > 0 {
			return work.Workspace()
		}
		return nil
	}
	s.list = func(ctx context.Context, deps D) ([]*folder, error) {
		w := files(deps)
		if w == nil || !w.Features().Walk {
			return nil, nil
		}
		var all []*folder
		for _, dir := range dirs {
			found, err := listWorkspace(ctx, w, dir)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
		return all, nil
	}
	s.find = func(ctx context.Context, deps D, name string) (*folder, error) {
		w := files(deps)
		if w == nil {
			return nil, nil
		}
		for _, dir := range dirs {
			f := workspaceFolder(w, path.Join(dir, name))
			_, _, err := f.read(ctx, skillFile, 0, 1)
			switch {
			case err == nil:
				return f, nil
			case fatal(ctx, err):
				return nil, err
			}
		}
		return nil, nil
	}
	return s
}

// readable reports whether a workspace has files to read, if only as they are saved.
func readable(w workspace.Workspace) bool { return w.Features().Read || w.Features().Saved }

// fatal reports whether an error prevents further reads.
func fatal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, workspace.ErrLost)
}

func listWorkspace(ctx context.Context, w workspace.Workspace, dir string) ([]*folder, error) {
	var all []*folder
	for info, err := range w.Walk(ctx, dir, workspace.WalkOptions{Depth: 1}) {
		switch {
		case err != nil && fatal(ctx, err):
			return nil, err
		case err != nil:
			return all, nil // there is no such directory, or none that can be read
		case !info.IsDir() && info.Mode&fs.ModeSymlink == 0:
			continue
		}
		if len(all) == maxFolders {
			break
		}
		name := info.Path[strings.LastIndexAny(info.Path, `/\`)+1:]
		all = append(all, workspaceFolder(w, path.Join(dir, name)))
	}
	return all, nil
}

func workspaceFolder(w workspace.Workspace, dir string) *folder {
	return &folder{
		name: path.Base(dir), where: dir, dir: dir,
		read: func(ctx context.Context, name string, offset int64, limit int) ([]byte, bool, error) {
			f, err := w.Read(ctx, path.Join(dir, name), workspace.Range{Offset: offset, Limit: limit, Saved: !w.Features().Read})
			return f.Data, f.More, err
		},
		files: func(ctx context.Context) ([]string, error) {
			if !w.Features().Walk {
				return nil, nil
			}
			at, err := workspace.LocateIn(w, dir)
			if err != nil {
				return nil, err
			}
			var names []string
			for info, err := range w.Walk(ctx, dir, workspace.WalkOptions{Depth: maxFileDepth}) {
				if err != nil && fatal(ctx, err) {
					return nil, err
				}
				if err == nil && !info.IsDir() && len(names) < maxListed+2 {
					names = append(names, strings.ReplaceAll(workspace.StyleOf(at.Path).Rel(at.Path, info.Path), `\`, "/"))
				}
			}
			return names, nil
		},
	}
}

// FS returns the skills in the folders of a directory of a file system, such as an embed.FS. Use
// os.Root.FS for a directory of this machine: what os.DirFS returns follows links out of it.
func FS[D any](fsys fs.FS, dir string) Source[D] {
	s := Source[D]{name: "file system"}
	if fsys == nil || !fs.ValidPath(dir) {
		s.err = fmt.Errorf("skills: FS: the file system is nil, or %q is not a valid path: use %q or one like %q", dir, ".", "data/skills")
		return s
	}
	s.list = func(ctx context.Context, _ D) ([]*folder, error) {
		entries, err := fs.ReadDir(fsys, dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("skills: list %q: %w", dir, err)
		}
		var all []*folder
		for _, e := range entries {
			if (e.IsDir() || e.Type()&fs.ModeSymlink != 0) && len(all) < maxFolders {
				all = append(all, fsFolder(fsys, path.Join(dir, e.Name())))
			}
		}
		return all, ctx.Err()
	}
	s.find = func(_ context.Context, _ D, name string) (*folder, error) {
		if _, err := fs.Stat(fsys, path.Join(dir, name, skillFile)); err != nil {
			return nil, nil
		}
		return fsFolder(fsys, path.Join(dir, name)), nil
	}
	return s
}

func fsFolder(fsys fs.FS, dir string) *folder {
	return &folder{
		name: path.Base(dir), where: dir,
		read: func(_ context.Context, name string, offset int64, limit int) ([]byte, bool, error) {
			if !fs.ValidPath(name) {
				return nil, false, fs.ErrInvalid
			}
			f, err := fsys.Open(path.Join(dir, name))
			if err != nil {
				return nil, false, err
			}
			defer f.Close()
			if _, err := io.CopyN(io.Discard, f, offset); err != nil {
				return nil, false, io.ErrUnexpectedEOF
			}
			data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
			if len(data) > limit {
				return data[:limit], true, err
			}
			return data, false, err
		},
		files: func(ctx context.Context) ([]string, error) {
			var names []string
			err := fs.WalkDir(fsys, dir, func(name string, e fs.DirEntry, err error) error {
				below := strings.TrimPrefix(strings.TrimPrefix(name, dir), "/")
				switch {
				case ctx.Err() != nil:
					return ctx.Err()
				case err != nil:
					return nil
				case e.IsDir() && strings.Count(below, "/") >= maxFileDepth-1 && below != "":
					return fs.SkipDir
				case !e.IsDir() && len(names) < maxListed+2: // SKILL.md, and one to tell that there are more
					names = append(names, below)
				}
				return nil
			})
			return names, err
		},
	}
}

// Code returns skills made in code. Their names must be different.
func Code[D any](all ...Skill) Source[D] {
	s := Source[D]{name: "code"}
	folders := make([]*folder, len(all))
	for i := range all {
		folders[i] = codeFolder(all[i])
		if err := all[i].check(nil); err != nil {
			s.err = errors.Join(s.err, fmt.Errorf("skills: Code: skill %d (%q): %w", i, all[i].Name, err))
		}
		for name := range all[i].Files {
			if !fs.ValidPath(name) || name == "." || name == skillFile {
				s.err = errors.Join(s.err, fmt.Errorf("skills: Code: skill %q: %q is not a valid path of a file", all[i].Name, name))
			}
		}
		if slices.ContainsFunc(all[:i], func(o Skill) bool { return o.Name == all[i].Name }) {
			s.err = errors.Join(s.err, fmt.Errorf("skills: Code: there are two skills called %q", all[i].Name))
		}
	}
	s.list = func(context.Context, D) ([]*folder, error) { return folders, nil }
	s.find = func(_ context.Context, _ D, name string) (*folder, error) {
		if i := slices.IndexFunc(folders, func(f *folder) bool { return f.name == name }); i >= 0 {
			return folders[i], nil
		}
		return nil, nil
	}
	return s
}

func codeFolder(s Skill) *folder {
	files := maps.Clone(s.Files)
	if files == nil {
		files = map[string]string{}
	}
	files[skillFile] = frontMatter(&s) + s.Body
	return &folder{
		name: s.Name, where: "code",
		read: func(_ context.Context, name string, offset int64, limit int) ([]byte, bool, error) {
			text, ok := files[name]
			if !ok {
				return nil, false, fs.ErrNotExist
			}
			text = text[min(offset, int64(len(text))):]
			return []byte(text[:min(limit, len(text))]), len(text) > limit, nil
		},
		files: func(context.Context) ([]string, error) { return slices.Sorted(maps.Keys(files)), nil },
	}
}

// frontMatter writes the fields that the model sees.
func frontMatter(s *Skill) string {
	return fmt.Sprintf("---\nname: %q\ndescription: %q\n---\n", s.Name, s.Description)
}
