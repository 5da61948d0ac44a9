// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// ring is a place that notes what it is asked.
type ring struct {
	name  string
	asked []string
	keys  map[string]string
	err   error
}

func (r *ring) note(op, name string) error {
	r.asked = append(r.asked, op+" "+name)
	if r.err == nil && op != "set" && r.keys[name] == "" {
		return ErrNone
	}
	return r.err
}

func (r *ring) Get(name string) (string, error) {
	if err := r.note("get", name); err != nil {
		return "", err
	}
	return r.keys[name], nil
}

func (r *ring) Set(name, key string) error {
	err := r.note("set", name)
	if err == nil {
		r.keys[name] = key
	}
	return err
}

func (r *ring) Remove(name string) error {
	err := r.note("remove", name)
	if err == nil {
		delete(r.keys, name)
	}
	return err
}

func (r *ring) String() string { return r.name }

func rings(held ...string) (all []*ring, places []Place) {
	for i, key := range held {
		r := &ring{name: fmt.Sprint("ring ", i+1), keys: map[string]string{}}
		if key != "" {
			r.keys["A"] = key
		}
		all, places = append(all, r), append(places, r)
	}
	return all, places
}

// Places are asked one after the other, and what fails is told if the key is nowhere.
func TestKeysOfSeveralPlaces(t *testing.T) {
	broken, worse := errors.New("broken"), errors.New("worse")
	ctx := t.Context()
	for name, c := range map[string]struct {
		held         []string
		fails        []error
		key, err     string
		second       bool // is asked
		removed      string
		none, stored bool
	}{
		"the first":           {[]string{"one", "two"}, []error{nil, nil}, "one", "", false, "", false, true},
		"the second":          {[]string{"", "two"}, []error{nil, nil}, "two", "", true, "", false, true},
		"none":                {[]string{"", ""}, []error{nil, nil}, "", "no such key is stored", true, "no such key is stored", true, true},
		"the first fails":     {[]string{"one", "two"}, []error{broken, nil}, "two", "", true, "ring 1: broken", false, true},
		"the second fails":    {[]string{"", "two"}, []error{nil, worse}, "", "ring 2: worse", true, "ring 2: worse", false, true},
		"both fail":           {[]string{"one", "two"}, []error{broken, worse}, "", "ring 1: broken\nring 2: worse", true, "ring 2: worse", false, false},
		"fails, and has none": {[]string{"", ""}, []error{broken, nil}, "", "ring 1: broken", true, "ring 1: broken", false, true},
	} {
		all, places := rings(c.held...)
		for i, err := range c.fails {
			all[i].err = err
		}
		k := &Keys{places: places}
		key, err := k.Get(ctx, "A")
		require.Equal(t, c.key, key, name)
		if c.err == "" {
			require.NoError(t, err, name)
		} else {
			require.EqualError(t, err, c.err, name)
		}
		require.Equal(t, c.none, errors.Is(err, ErrNone), name)
		require.Equal(t, []string{"get A"}, all[0].asked, name)
		require.Equal(t, c.second, all[1].asked != nil, name)

		err = k.Remove(ctx, "A")
		if c.removed == "" {
			require.NoError(t, err, name)
		} else {
			require.EqualError(t, err, c.removed, name)
		}
		for _, r := range all {
			require.Equal(t, "remove A", r.asked[len(r.asked)-1], name)
			require.True(t, r.err != nil || r.keys["A"] == "", name)
		}

		where, err := k.Set(ctx, "A", "new")
		if !c.stored {
			require.EqualError(t, err, "ring 1: broken\nring 2: worse\nthe key is not stored", name)
			require.Empty(t, where)
			continue
		}
		require.NoError(t, err, name)
		first := 0
		if all[0].err != nil {
			first = 1
		}
		require.Equal(t, all[first].name, where, name)
		require.Equal(t, "new", all[first].keys["A"])
	}
	none := &Keys{}
	_, err := none.Get(ctx, "A")
	require.Equal(t, ErrNone, err)
	require.Equal(t, ErrNone, none.Remove(ctx, "A"))
	_, err = none.Set(ctx, "A", "x")
	require.EqualError(t, err, "the key is not stored")
	require.Empty(t, none.Names())
	require.Nil(t, (*Keys)(nil).Names())
}

// The names of keys of a keyring are in a file beside those of keys in a file.
func TestNamesOfKeys(t *testing.T) {
	dir := t.TempDir()
	_, places := rings("", "")
	inFile, names := filepath.Join(dir, "keys.json"), filepath.Join(dir, "keyring.json")
	k := &Keys{places: append(places[:1:1], file(inFile)), ringed: file(names)}
	where, err := k.Set(t.Context(), "B", "secret")
	require.NoError(t, err)
	require.Equal(t, "ring 1", where)
	data, err := os.ReadFile(names)
	require.NoError(t, err)
	require.Equal(t, "{\n  \"B\": \"in the keyring\"\n}\n", string(data))
	require.NoFileExists(t, inFile)
	places[0].(*ring).err = errors.New("locked")
	where, err = k.Set(t.Context(), "A", "secret")
	require.NoError(t, err)
	require.Equal(t, inFile, where)
	require.Equal(t, []string{"A", "B"}, k.Names())
	data, err = os.ReadFile(names)
	require.NoError(t, err)
	require.NotContains(t, string(data), "A", "it is in the file")
	places[0].(*ring).err = nil
	require.NoError(t, k.Remove(t.Context(), "B"))
	require.Equal(t, []string{"A"}, k.Names())
	k.ringed = ""
	require.Equal(t, []string{"A"}, k.Names())
	require.NoError(t, k.Remove(t.Context(), "A"))
	require.Empty(t, k.Names())
}

// A file is made with its directory, for its owner only, and what is wrong with it is told without what it holds.
func TestFilesOfKeys(t *testing.T) {
	dir := t.TempDir()
	f := file(filepath.Join(dir, "sub", "keys.json"))
	require.Equal(t, string(f), f.String())
	for _, err := range []error{f.Remove("A"), func() error { _, err := f.Get("A"); return err }()} {
		require.Equal(t, ErrNone, err)
	}
	require.NoError(t, f.Set("B", "2"))
	require.NoError(t, f.Set("A", "1"))
	data, err := os.ReadFile(string(f))
	require.NoError(t, err)
	require.Equal(t, "{\n  \"A\": \"1\",\n  \"B\": \"2\"\n}\n", string(data))
	if runtime.GOOS != "windows" {
		info, err := os.Stat(filepath.Dir(string(f)))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
		for _, mode := range []os.FileMode{0o601, 0o610, 0o640, 0o604, 0o660} {
			require.NoError(t, os.Chmod(string(f), mode))
			_, err := f.Get("A")
			require.EqualError(t, err, "other users can read it: replace the keys in it, and run chmod 600 "+string(f))
			require.Equal(t, err, f.Set("A", "3"))
			require.Equal(t, err, f.Remove("A"))
		}
		require.NoError(t, os.Chmod(string(f), 0o700))
	}
	key, err := f.Get("A")
	require.NoError(t, err)
	require.Equal(t, "1", key)
	require.NoError(t, f.Remove("A"))
	require.Equal(t, ErrNone, f.Remove("A"))
	require.NoError(t, f.Set("C", ""))
	_, err = f.Get("C")
	require.Equal(t, ErrNone, err, "an empty one is none")
	require.Equal(t, ErrNone, f.Remove("C"))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "plain"), []byte("{}"), 0o600))
	below := file(filepath.Join(dir, "plain", "keys.json"))
	require.Error(t, below.Set("A", "1"))
	wrong := file(filepath.Join(dir, "wrong"))
	for _, text := range []string{"", "null", "[]", `{"A":1}`, "secret"} {
		require.NoError(t, os.WriteFile(string(wrong), []byte(text), 0o600))
		_, err := wrong.Get("A")
		require.EqualError(t, err, "it is not a JSON object of strings")
	}
	_, err = file(dir).Get("A")
	require.Error(t, err)
}

// Where keys are depends on the program and on a variable.
func TestWhereKeysAre(t *testing.T) {
	require.Equal(t, "MY_DESK_2_KEYS", Variable("my-desk-2"))
	home := t.TempDir()
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(name, home)
	}
	before := Keyring
	t.Cleanup(func() { Keyring = before })
	asked := ""
	r := &ring{name: "the ring"}
	Keyring = func(program string, getenv func(string) string) Place {
		asked = program + getenv("X")
		if getenv("NORING") != "" {
			return nil
		}
		return r
	}
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	require.Equal(t, &Keys{places: []Place{file("/keys")}}, Open("my-desk", env("MY_DESK_KEYS", "/keys")))
	require.Empty(t, asked)
	dir, err := os.UserConfigDir()
	require.NoError(t, err)
	inFile, names := file(filepath.Join(dir, "desk", "keys.json")), file(filepath.Join(dir, "desk", "keyring.json"))
	require.Equal(t, &Keys{places: []Place{r, inFile}, ringed: names}, Open("desk", env("X", "1")))
	require.Equal(t, "desk1", asked)
	require.Equal(t, &Keys{places: []Place{inFile}, ringed: names}, Open("desk", env("NORING", "1")))
	Keyring = nil
	require.Equal(t, &Keys{places: []Place{inFile}, ringed: names}, Open("desk", env()))
}
