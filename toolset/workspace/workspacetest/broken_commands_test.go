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

	"github.com/ponte-go/ponte/toolset/workspace"
)

// brokenCommands returns workspaces that break the rules about walks and commands, by rule.
func brokenCommands() map[string][]func(*fault) {
	return map[string][]func(*fault){
		"a walk lists everything in order": {
			walk(func(_ workspace.WalkOptions, all []workspace.Info) []workspace.Info { slices.Reverse(all); return all }),
			walk(func(_ workspace.WalkOptions, all []workspace.Info) []workspace.Info {
				slices.SortFunc(all, func(a, b workspace.Info) int { return strings.Compare(a.Path, b.Path) })
				return all
			}),
			walk(func(_ workspace.WalkOptions, all []workspace.Info) []workspace.Info {
				return slices.DeleteFunc(all, func(i workspace.Info) bool { return strings.Contains(i.Path, "/.") })
			}),
		},
		"Depth bounds a walk": {func(f *fault) {
			f.walk = func(ctx context.Context, dir string, o workspace.WalkOptions) iter.Seq2[workspace.Info, error] {
				o.Depth = 0
				return f.Memory.Walk(ctx, dir, o)
			}
		}},
		"Filter decides what is listed and entered": {func(f *fault) {
			f.walk = func(ctx context.Context, dir string, o workspace.WalkOptions) iter.Seq2[workspace.Info, error] {
				o.Filter = nil
				return f.Memory.Walk(ctx, dir, o)
			}
		}},
		"a walk ends when its consumer does": {func(f *fault) {
			f.walk = func(ctx context.Context, dir string, o workspace.WalkOptions) iter.Seq2[workspace.Info, error] {
				return func(yield func(workspace.Info, error) bool) {
					for i, err := range f.Memory.Walk(ctx, dir, o) {
						yield(i, err)
					}
				}
			}
		}},
		"Details describes what is listed": {walk(func(_ workspace.WalkOptions, all []workspace.Info) []workspace.Info {
			for i := range all {
				all[i].Version = ""
			}
			return all
		})},
		"links are listed and not followed": {
			walk(func(_ workspace.WalkOptions, all []workspace.Info) []workspace.Info {
				return slices.DeleteFunc(all, func(i workspace.Info) bool { return i.Mode&fs.ModeSymlink != 0 })
			}),
			walk(func(_ workspace.WalkOptions, all []workspace.Info) []workspace.Info {
				for i := range all {
					all[i].Mode &^= fs.ModeSymlink
				}
				return all
			}),
		},
		"a walk of nothing is an error": {func(f *fault) {
			f.walk = func(context.Context, string, workspace.WalkOptions) iter.Seq2[workspace.Info, error] {
				return func(func(workspace.Info, error) bool) {}
			}
		}},
		"a walk of many files is complete": {walk(func(_ workspace.WalkOptions, all []workspace.Info) []workspace.Info { return all[:min(len(all), 1000)] })},
		"a command runs to its end": {
			outputs(func(p workspace.Process, ctx context.Context, from int64, limit int) (workspace.Chunk, error) {
				c, err := p.Output(ctx, from, limit)
				c.Exit = nil
				return c, err
			}),
			func(f *fault) {
				f.process = func(p workspace.Process) workspace.Process {
					return &badProcess{Process: p, wait: func(ctx context.Context) (workspace.Exit, error) { _, err := p.Wait(ctx); return workspace.Exit{}, err }}
				}
			},
		},
		"output has standard error as well": {outputs(func(p workspace.Process, ctx context.Context, from int64, limit int) (workspace.Chunk, error) {
			c, err := p.Output(ctx, from, limit)
			c.Data = bytes.ReplaceAll(c.Data, []byte("two\n"), nil)
			return c, err
		})},
		"standard input is empty": {outputs(func(p workspace.Process, ctx context.Context, from int64, limit int) (workspace.Chunk, error) {
			c, err := p.Output(ctx, from, limit)
			c.Data = bytes.ReplaceAll(c.Data, []byte("0 bytes"), []byte("7 bytes"))
			return c, err
		})},
		"a command runs in its directory": {func(f *fault) {
			f.start = func(ctx context.Context, c workspace.Command) (workspace.Process, error) {
				c.Dir = ""
				return f.Memory.Start(ctx, c)
			}
		}},
		"variables are added to the environment": {
			func(f *fault) {
				f.start = func(ctx context.Context, c workspace.Command) (workspace.Process, error) {
					c.Env = nil
					return f.Memory.Start(ctx, c)
				}
			},
			func(f *fault) {
				f.start = func(ctx context.Context, c workspace.Command) (workspace.Process, error) {
					slices.Reverse(c.Env)
					return f.Memory.Start(ctx, c)
				}
			},
		},
		"arguments arrive as they are": {func(f *fault) {
			f.start = func(ctx context.Context, c workspace.Command) (workspace.Process, error) {
				c.Args = strings.Fields(strings.Join(c.Args, " "))
				return f.Memory.Start(ctx, c)
			}
		}},
		"a malformed command is ErrCommand": {func(f *fault) {
			f.start = func(ctx context.Context, c workspace.Command) (workspace.Process, error) {
				c.Env = nil
				return f.Memory.Start(ctx, c)
			}
		}},
		"output is read from a position": {
			outputs(func(p workspace.Process, ctx context.Context, from int64, _ int) (workspace.Chunk, error) {
				return p.Output(ctx, from, 0)
			}),
			outputs(func(p workspace.Process, ctx context.Context, from int64, limit int) (workspace.Chunk, error) {
				return p.Output(ctx, max(from, 0), limit)
			}),
			outputs(func(p workspace.Process, ctx context.Context, from int64, limit int) (workspace.Chunk, error) {
				c, err := p.Output(ctx, from, limit)
				c.End = c.From + int64(len(c.Data))
				return c, err
			}),
		},
		"long output keeps its end": {outputs(func(p workspace.Process, ctx context.Context, from int64, limit int) (workspace.Chunk, error) {
			c, err := p.Output(ctx, from, limit)
			c.Lost = false
			return c, err
		})},
		"Kill ends a command and keeps its output": {
			func(f *fault) {
				f.process = func(p workspace.Process) workspace.Process {
					return &badProcess{Process: p, kill: p.Close}
				}
			},
			func(f *fault) {
				f.process = func(p workspace.Process) workspace.Process {
					return &badProcess{Process: p, wait: func(ctx context.Context) (workspace.Exit, error) { _, err := p.Wait(ctx); return workspace.Exit{}, err }}
				}
			},
		},
		"Wait ends with its context and not the command": {func(f *fault) {
			f.process = func(p workspace.Process) workspace.Process {
				return &badProcess{Process: p, wait: func(ctx context.Context) (workspace.Exit, error) {
					e, err := p.Wait(ctx)
					if err != nil {
						_ = p.Kill(ctx)
						e, _ = p.Wait(context.Background())
					}
					return e, err
				}}
			}
		}},
		"a command outlives the context of its start": {func(f *fault) {
			f.process = nil
			f.start = func(ctx context.Context, c workspace.Command) (workspace.Process, error) {
				p, err := f.Memory.Start(ctx, c)
				if err == nil {
					context.AfterFunc(ctx, func() { _ = p.Kill(context.Background()) })
				}
				return &badProcess{Process: p, output: func(octx context.Context, from int64, limit int) (workspace.Chunk, error) {
					if ctx.Err() != nil {
						_, _ = p.Wait(octx)
					}
					return p.Output(octx, from, limit)
				}}, err
			}
		}},
		"Close ends a command and gives up its output": {func(f *fault) {
			f.process = func(p workspace.Process) workspace.Process { return &badProcess{Process: p, close: p.Kill} }
		}},
		"processes are told apart": {func(f *fault) {
			f.process = func(p workspace.Process) workspace.Process { return &badProcess{Process: p, ref: "same"} }
		}},
		"the same work gets the same answers": {
			func(f *fault) {
				f.read = func(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
					got, err := f.Memory.Read(ctx, path, r)
					if err != nil {
						err = errors.New("open " + path + ": no such file or directory")
					}
					return got, err
				}
			},
			outputs(func(p workspace.Process, ctx context.Context, from int64, limit int) (workspace.Chunk, error) {
				c, err := p.Output(ctx, from, limit)
				c.Data = bytes.ReplaceAll(c.Data, []byte("\n"), []byte("\r\n"))
				return c, err
			}),
		},
		"no tool leads out": {
			func(f *fault) {
				f.read = func(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
					got, err := f.Memory.Read(ctx, path, r)
					if data, ok := leak(f, path); ok && err != nil {
						return workspace.File{Data: data}, nil
					}
					return got, err
				}
			},
			func(f *fault) {
				f.write = func(ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
					version, err := f.Memory.Write(ctx, path, data, v)
					if at, located := workspace.Locate(f.Memory.Roots(), path); located == nil && err != nil {
						_ = f.Disk().WriteFile(at.Path, data, 0o644)
					}
					return version, err
				}
				f.read = func(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
					got, err := f.Memory.Read(ctx, path, r)
					if errors.Is(err, workspace.ErrOutside) {
						err = fs.ErrNotExist
					}
					return got, err
				}
			},
		},
	}
}
