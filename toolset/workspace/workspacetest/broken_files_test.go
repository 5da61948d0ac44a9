// SPDX-License-Identifier: Apache-2.0

package workspacetest_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// read lets fn change what Read returns.
func read(fn func(f *fault, got *workspace.File, err *error, path string, r workspace.Range)) func(*fault) {
	return func(f *fault) {
		f.read = func(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
			got, err := f.Memory.Read(ctx, path, r)
			fn(f, &got, &err, path, r)
			return got, err
		}
	}
}

func write(fn func(f *fault, ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error)) func(*fault) {
	return func(f *fault) {
		f.write = func(ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
			return fn(f, ctx, path, data, v)
		}
	}
}

func walk(change func(o workspace.WalkOptions, all []workspace.Info) []workspace.Info) func(*fault) {
	return func(f *fault) {
		f.walk = func(ctx context.Context, dir string, o workspace.WalkOptions) iter.Seq2[workspace.Info, error] {
			return func(yield func(workspace.Info, error) bool) {
				var all []workspace.Info
				for i, err := range f.Memory.Walk(ctx, dir, o) {
					if err != nil {
						yield(i, err)
						return
					}
					all = append(all, i)
				}
				for _, i := range change(o, all) {
					if !yield(i, nil) {
						return
					}
				}
			}
		}
	}
}

func leak(f *fault, path string) ([]byte, bool) {
	abs, err := workspace.Slash.Abs(f.Memory.Roots()[0], path)
	if err != nil {
		return nil, false
	}
	data, err := f.Disk().ReadFile(abs)
	return data, err == nil
}

// brokenFiles returns workspaces that break the rules about files and paths, by rule.
func brokenFiles() map[string][]func(*fault) {
	errOther := errors.New("something went wrong")
	return map[string][]func(*fault){
		"roots are absolute and clean and stay the same": {
			func(f *fault) { f.roots = func([]string) []string { return nil } },
			func(f *fault) { f.roots = func([]string) []string { return []string{"/a/"} } },
			func(f *fault) {
				n := 0
				f.roots = func(r []string) []string { n++; return append(slices.Clone(r), strings.Repeat("/x", n)) }
			},
			func(f *fault) {
				n := 0
				f.features = func(r workspace.Features) workspace.Features { n++; r.Walk = n%2 == 0; return r }
			},
		},
		"what the features leave out is errors.ErrUnsupported": {
			func(f *fault) {
				f.features = func(r workspace.Features) workspace.Features { r.Read = false; return r }
			},
			func(f *fault) {
				f.features = func(r workspace.Features) workspace.Features { r.Write = false; return r }
			},
			func(f *fault) {
				f.features = func(r workspace.Features) workspace.Features { r.Remove = false; return r }
			},
			func(f *fault) {
				f.features = func(r workspace.Features) workspace.Features { r.Walk = false; return r }
			},
			func(f *fault) {
				f.features = func(r workspace.Features) workspace.Features { r.Commands = false; return r }
			},
		},
		"saved text is read like other text": {
			read(func(_ *fault, got *workspace.File, err *error, _ string, r workspace.Range) {
				if r.Saved && *err == nil {
					*got, *err = workspace.File{}, errors.ErrUnsupported
				}
			}),
			read(func(_ *fault, got *workspace.File, err *error, _ string, r workspace.Range) {
				if r.Saved {
					*err = nil
				}
			}),
			read(func(f *fault, got *workspace.File, err *error, path string, r workspace.Range) {
				if r.Saved && r.Line > 0 {
					*got, *err = f.Memory.Read(context.Background(), path, workspace.Range{})
				}
			}),
		},
		"a file is read as it is": {
			read(func(_ *fault, got *workspace.File, _ *error, _ string, _ workspace.Range) {
				got.Data = bytes.ReplaceAll(got.Data, []byte("\r\n"), []byte("\n"))
			}),
			read(func(_ *fault, got *workspace.File, _ *error, _ string, _ workspace.Range) {
				got.Data = bytes.TrimPrefix(got.Data, []byte("\ufeff"))
			}),
			read(func(_ *fault, got *workspace.File, _ *error, _ string, _ workspace.Range) { got.Version = "" }),
			read(func(_ *fault, got *workspace.File, _ *error, _ string, _ workspace.Range) {
				got.Version = workspace.AnyVersion
			}),
			read(func(_ *fault, got *workspace.File, _ *error, _ string, _ workspace.Range) { got.Path = "" }),
			read(func(_ *fault, got *workspace.File, _ *error, _ string, _ workspace.Range) { got.Size++ }),
		},
		"a file of every root can be read": {
			read(func(_ *fault, _ *workspace.File, err *error, path string, _ workspace.Range) {
				if strings.HasPrefix(path, "/more") {
					*err = workspace.ErrOutside
				}
			}),
		},
		"what cannot be read is the error that says why": {
			read(func(_ *fault, _ *workspace.File, err *error, _ string, _ workspace.Range) {
				if *err != nil {
					*err = errOther
				}
			}),
			read(func(_ *fault, _ *workspace.File, err *error, _ string, _ workspace.Range) {
				if errors.Is(*err, workspace.ErrNotDirectory) {
					*err = fs.ErrNotExist
				}
			}),
			func(f *fault) {
				f.stat = func(context.Context, string) (workspace.Info, error) { return workspace.Info{}, nil }
			},
		},
		"what is neither a file nor a directory is not opened": {
			read(func(_ *fault, _ *workspace.File, err *error, _ string, _ workspace.Range) { *err = nil }),
		},
		"ranges select bytes and lines": {
			read(func(_ *fault, got *workspace.File, _ *error, _ string, r workspace.Range) { got.More = r.Limit > 0 }),
			read(func(_ *fault, got *workspace.File, _ *error, _ string, _ workspace.Range) { got.Lines = 0 }),
			func(f *fault) {
				f.read = func(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
					r.Limit = 0
					return f.Memory.Read(ctx, path, r)
				}
			},
		},
		"a large file is read in parts": {
			read(func(_ *fault, got *workspace.File, err *error, _ string, _ workspace.Range) {
				if got.Size > 1<<20 {
					*err = workspace.ErrTooLarge
				}
			}),
			read(func(_ *fault, got *workspace.File, _ *error, _ string, _ workspace.Range) {
				got.Data = got.Data[:min(len(got.Data), 1<<20)]
			}),
		},
		"a version changes with the contents": {
			read(func(_ *fault, got *workspace.File, _ *error, _ string, _ workspace.Range) { got.Version = "same" }),
			read(func(_ *fault, got *workspace.File, _ *error, _ string, _ workspace.Range) { // as one that is made of size and time
				got.Version = workspace.Version(rune('a' + len(got.Data)))
			}),
			func(f *fault) {
				f.stat = func(ctx context.Context, path string) (workspace.Info, error) {
					i, err := f.Memory.Stat(ctx, path)
					i.Version = ""
					return i, err
				}
			},
		},
		"Stat tells files from directories": {
			func(f *fault) {
				f.stat = func(ctx context.Context, path string) (workspace.Info, error) {
					i, err := f.Memory.Stat(ctx, path)
					i.Mode = 0
					return i, err
				}
			},
		},
		"links inside are followed": {
			read(func(_ *fault, _ *workspace.File, err *error, path string, _ workspace.Range) {
				if path == "file" {
					*err = workspace.ErrOutside
				}
			}),
			read(func(_ *fault, _ *workspace.File, err *error, path string, _ workspace.Range) {
				if path == "across" {
					*err = workspace.ErrOutside
				}
			}),
			read(func(_ *fault, got *workspace.File, _ *error, path string, _ workspace.Range) {
				if path == "dir/f" {
					got.Path = "/base/project/real/f"
				}
			}),
		},
		"a context that has ended ends every method with its cause": {
			func(f *fault) {
				f.read = func(_ context.Context, path string, r workspace.Range) (workspace.File, error) {
					return f.Memory.Read(context.Background(), path, r)
				}
			},
			write(func(f *fault, _ context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
				return f.Memory.Write(context.Background(), path, data, v)
			}),
			func(f *fault) {
				f.walk = func(_ context.Context, dir string, o workspace.WalkOptions) iter.Seq2[workspace.Info, error] {
					return f.Memory.Walk(context.Background(), dir, o)
				}
			},
		},
		"a write without a version creates a file": {
			write(func(f *fault, ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
				if v == "" {
					v = workspace.AnyVersion
				}
				return f.Memory.Write(ctx, path, data, v)
			}),
			write(func(f *fault, ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
				_, err := f.Memory.Write(ctx, path, data, v)
				return "other", err
			}),
			write(func(f *fault, ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
				if _, err := f.Memory.Stat(ctx, workspace.Slash.Parent("/base/project/"+path)); err != nil {
					return "", err
				}
				return f.Memory.Write(ctx, path, data, v)
			}),
		},
		"a write with a version replaces that version alone": {
			write(func(f *fault, ctx context.Context, path string, data []byte, _ workspace.Version) (workspace.Version, error) {
				return f.Memory.Write(ctx, path, data, workspace.AnyVersion)
			}),
			write(func(f *fault, ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
				if got, err := f.Memory.Read(ctx, path, workspace.Range{}); err == nil && v != "" && len(got.Data) == 3 {
					v = workspace.AnyVersion // taken for unchanged by its size
				}
				return f.Memory.Write(ctx, path, data, v)
			}),
		},
		"AnyVersion writes whatever is there": {
			write(func(f *fault, ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
				if v == workspace.AnyVersion {
					v = ""
				}
				return f.Memory.Write(ctx, path, data, v)
			}),
		},
		"bytes are written as they are": {
			write(func(f *fault, ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
				return f.Memory.Write(ctx, path, bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), v)
			}),
			func(f *fault) {
				shared := map[string][]byte{}
				f.write = func(ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
					shared[path] = data
					return f.Memory.Write(ctx, path, data, v)
				}
				f.read = func(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
					got, err := f.Memory.Read(ctx, path, r)
					got.Data = shared[path]
					return got, err
				}
			},
		},
		"a write keeps the mode": {
			write(func(f *fault, ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
				version, err := f.Memory.Write(ctx, path, data, v)
				_ = f.Disk().WriteFile("/base/project/"+path, data, 0o644)
				return version, err
			}),
		},
		"a directory or a file in the way is an error": {
			write(func(f *fault, ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
				version, err := f.Memory.Write(ctx, path, data, v)
				if err != nil {
					err = errOther
				}
				return version, err
			}),
		},
		"a write follows a link inside": {
			write(func(f *fault, ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
				_ = f.Disk().Remove("/base/project/" + path) // as a rename over the link does
				return f.Memory.Write(ctx, path, data, workspace.AnyVersion)
			}),
		},
		"a write leaves no other file": {
			write(func(f *fault, ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
				_ = f.Disk().WriteFile("/base/project/"+path+".tmp", data, 0o600)
				return f.Memory.Write(ctx, path, data, v)
			}),
		},
		"Remove deletes a file of the version": {
			func(f *fault) {
				f.remove = func(ctx context.Context, path string, _ workspace.Version) error {
					return f.Memory.Remove(ctx, path, workspace.AnyVersion)
				}
			},
			func(f *fault) { f.remove = func(context.Context, string, workspace.Version) error { return nil } },
		},
		"Remove takes a link away and not its target": {
			func(f *fault) {
				f.remove = func(context.Context, string, workspace.Version) error { return f.Disk().Remove("/base/project/real") }
			},
		},
		"of several writers of a version one wins": {
			func(f *fault) {
				var both sync.WaitGroup
				var mu sync.Mutex
				waiting := 0
				f.write = func(ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
					now, _ := f.Memory.Read(ctx, path, workspace.Range{}) // checked first, and written later
					mu.Lock()
					if waiting++; waiting == 1 {
						both.Add(1)
					} else if waiting == 2 {
						both.Done()
					}
					mu.Unlock()
					both.Wait()
					if now.Version != v {
						return "", workspace.ErrChanged
					}
					return f.Memory.Write(ctx, path, data, workspace.AnyVersion)
				}
			},
		},
		"a reader sees the old contents or the new": {
			read(func(_ *fault, got *workspace.File, _ *error, _ string, _ workspace.Range) {
				got.Data = got.Data[:len(got.Data)-1]
			}),
			read(func(_ *fault, got *workspace.File, _ *error, _ string, _ workspace.Range) { got.Version = "same" }),
		},
		"no path leads out": {
			read(func(f *fault, got *workspace.File, err *error, path string, _ workspace.Range) { // links are not looked at
				if _, located := workspace.Locate(f.Memory.Roots(), path); located == nil {
					if data, ok := leak(f, path); ok {
						got.Data, *err = data, nil
					}
				}
			}),
			write(func(f *fault, ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) { // only paths to files that exist are looked at
				version, err := f.Memory.Write(ctx, path, data, v)
				if at, located := workspace.Locate(f.Memory.Roots(), path); located == nil && err != nil {
					_ = f.Disk().WriteFile(at.Path, data, 0o644)
				}
				return version, err
			}),
			func(f *fault) { // "project2" is taken for a part of "project"
				f.stat = func(ctx context.Context, path string) (workspace.Info, error) {
					if abs, err := workspace.Slash.Abs("/base/project", path); err == nil && strings.HasPrefix(abs, "/base/project") {
						return workspace.Info{}, fs.ErrNotExist
					}
					return f.Memory.Stat(ctx, path)
				}
			},
			func(f *fault) {
				f.start = func(ctx context.Context, c workspace.Command) (workspace.Process, error) {
					c.Dir = ""
					return f.Memory.Start(ctx, c)
				}
			},
			func(f *fault) {
				f.walk = func(context.Context, string, workspace.WalkOptions) iter.Seq2[workspace.Info, error] {
					return func(yield func(workspace.Info, error) bool) { yield(workspace.Info{Path: "/etc/passwd"}, nil) }
				}
			},
			func(f *fault) {
				f.remove = func(_ context.Context, path string, _ workspace.Version) error { return f.Disk().Remove(path) }
			},
		},
		"odd names inside are names like others": {
			write(func(f *fault, ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
				return f.Memory.Write(ctx, strings.ReplaceAll(path, `\`, "/"), data, v)
			}),
			write(func(f *fault, ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
				return f.Memory.Write(ctx, strings.ReplaceAll(path, "%2e", "."), data, v)
			}),
		},
		"paths are cleaned before links are followed": {
			func(f *fault) {
				f.read = func(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
					return f.Memory.Read(ctx, strings.Replace(path, "link/../f", "a/f", 1), r)
				}
			},
		},
		"a URI names the file that its path names": {
			func(f *fault) {
				f.read = func(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
					return f.Memory.Read(ctx, strings.TrimPrefix(path, "file://"), r)
				}
			},
		},
		"a link that changes while it is used leads nowhere": {
			func(f *fault) {
				f.read = func(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
					got, err := f.Memory.Read(ctx, path, r) // checked
					for range 1000 {                        // and used later
						if data, ok := leak(f, path); ok && err == nil {
							got.Data = data
						}
					}
					return got, err
				}
			},
		},
	}
}
