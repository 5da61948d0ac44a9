// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
)

// stick has a file of media, which may exist or not, become one that cannot be removed, until it is
// loosened.
func stick(t *testing.T, dir, name string, at time.Time) (loosen func()) {
	t.Helper()
	path := filepath.Join(dir, "media", name)
	require.NoError(t, os.RemoveAll(path))
	require.NoError(t, os.MkdirAll(filepath.Join(path, "inside"), 0o700))
	require.NoError(t, os.Chtimes(path, at, at))
	return func() { require.NoError(t, os.Remove(filepath.Join(path, "inside"))) }
}

// A file of a deleted entry that cannot be removed stays noted. It fails nobody, and goes with the
// next files that go, as soon as that is possible.
func TestFilesThatCannotBeRemovedAreRemovedLater(t *testing.T) {
	dir := t.TempDir()
	s := store(t, dir)
	_, err := s.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), s, "s", session.Claim{})
	require.NoError(t, err)
	say := func(key string, e session.Entry) {
		t.Helper()
		e.Kind, e.Run, e.Key = session.KindMessage, "r", key
		_, err := w.Append(t.Context(), e)
		require.NoError(t, err)
	}
	garbage := func() (n int) {
		require.NoError(t, database(t, dir).QueryRow("SELECT count(*) FROM garbage").Scan(&n))
		return n
	}
	var names []string
	for _, key := range []string{"a", "b", "c"} {
		say(key, image(session.KindMessage, key, key))
		text := strings.Repeat(key, 300<<10)
		names = append(names, fmt.Sprintf("%x", sha256.Sum256([]byte(text))))
	}
	require.ElementsMatch(t, names, media(t, dir))
	loosen := stick(t, dir, names[0], time.Now())

	say("a", value("short"))
	require.Contains(t, media(t, dir), names[0])
	require.Equal(t, 1, garbage(), "it is still to be removed")
	say("b", value("short"))
	require.NotContains(t, media(t, dir), names[1], "it stands in nobody's way")
	require.Equal(t, 2, garbage())

	loosen()
	say("c", value("short"))
	require.Empty(t, media(t, dir))
	require.Zero(t, garbage())
	require.NoError(t, w.Close(t.Context()))
}

// Compact removes temporary files that are older than an hour, all of them, and tells of a file that
// it cannot remove.
func TestCompactTellsOfFilesThatStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s, err := sqlitestore.Open(dir, sqlitestore.Options{})
		require.NoError(t, err)
		for name, age := range map[string]time.Duration{
			"new-1": time.Hour, "new-2": time.Hour + time.Second, "new-3": 2 * time.Hour,
			"new-4": time.Minute, "new-5": 3 * time.Hour,
		} {
			path := filepath.Join(dir, "media", name)
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			require.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
		}
		require.NoError(t, s.Compact(t.Context()))
		require.ElementsMatch(t, []string{"new-1", "new-4"}, media(t, dir))
		for _, name := range []string{"new-6", strings.Repeat("a", 64)} {
			loosen := stick(t, dir, name, time.Now().Add(-2*time.Hour))
			err := s.Compact(t.Context())
			require.ErrorContains(t, err, "session: compact: ")
			require.ErrorContains(t, err, name)
			require.Contains(t, media(t, dir), name)
			loosen()
			require.NoError(t, os.Chtimes(
				filepath.Join(dir, "media", name), time.Time{}, time.Now().Add(-2*time.Hour),
			))
			require.NoError(t, s.Compact(t.Context()))
			require.NotContains(t, media(t, dir), name)
		}
		require.NoError(t, s.Close())
	})
}

// What a row says of its files is not trusted: no name leads out of the directory of media, and
// a place outside of the data is damage.
func TestListsOfMediaAreChecked(t *testing.T) {
	dir := t.TempDir()
	s := store(t, dir)
	_, err := s.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), s, "s", session.Claim{})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), image(session.KindValue, "", "x"))
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
	hash := media(t, dir)[0]
	db := database(t, dir)
	var list string
	var left []byte
	row := db.QueryRow("SELECT media, data FROM entries")
	require.NoError(t, row.Scan(&list, &left))
	type hole struct {
		At   int    `json:"at"`
		Hash string `json:"hash"`
	}
	var holes []hole
	require.NoError(t, json.Unmarshal([]byte(list), &holes))
	at := strings.Index(string(left), `""`) + 1
	require.Equal(t, []hole{{at, hash}}, holes)
	secret := filepath.Join(dir, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	out := "../secret" + strings.Repeat("/", 64-len("../secret"))
	const wrong, sum, none = "the list of its media is wrong", "the checksum is wrong", "no such file"
	for name, c := range map[string]struct {
		holes []hole
		want  string
	}{
		"before the data":  {[]hole{{-1, hash}}, wrong},
		"at the beginning": {[]hole{{0, hash}}, sum},
		"at the end":       {[]hole{{len(left), hash}}, sum},
		"behind the data":  {[]hole{{len(left) + 1, hash}}, wrong},
		"twice in a place": {[]hole{{at, hash}, {at, hash}}, sum},
		"back":             {[]hole{{at, hash}, {at - 1, hash}}, wrong},
		"none":             {[]hole{}, sum},
		"short name":       {[]hole{{at, hash[1:]}}, wrong},
		"long name":        {[]hole{{at, hash + "0"}}, wrong},
		"way out":          {[]hole{{at, out}}, wrong},
		"capital letters":  {[]hole{{at, strings.Repeat("A", 64)}}, wrong},
		"before a":         {[]hole{{at, strings.Repeat("`", 64)}}, wrong},
		"behind f":         {[]hole{{at, strings.Repeat("g", 64)}}, wrong},
		"before 0":         {[]hole{{at, strings.Repeat("/", 64)}}, wrong},
		"behind 9":         {[]hole{{at, strings.Repeat(":", 64)}}, wrong},
		"zeros":            {[]hole{{at, strings.Repeat("0", 64)}}, none},
		"nines":            {[]hole{{at, strings.Repeat("9", 64)}}, none},
		"a":                {[]hole{{at, strings.Repeat("a", 64)}}, none},
		"f":                {[]hole{{at, strings.Repeat("f", 64)}}, none},
	} {
		data, err := json.Marshal(c.holes)
		require.NoError(t, err)
		_, err = db.Exec("UPDATE entries SET media = ?", string(data))
		require.NoError(t, err)
		good, damaged, failed := count(t, s, "s")
		require.Equal(t, []int{0, 1}, []int{good, damaged}, name)
		if c.want == none {
			require.ErrorIs(t, failed, os.ErrNotExist, name)
			continue
		}
		require.ErrorContains(t, failed, c.want, name)
	}
	_, err = db.Exec("UPDATE entries SET media = ?", list)
	require.NoError(t, err)
	good, damaged, _ := count(t, s, "s")
	require.Equal(t, []int{1, 0}, []int{good, damaged})
}
