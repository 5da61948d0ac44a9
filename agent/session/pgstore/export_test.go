// SPDX-License-Identifier: Apache-2.0

package pgstore

import "context"

// SettingOfPresence returns a setting of a connection that is made as the one with the lock is.
func SettingOfPresence(ctx context.Context, s *Store, name string) (string, error) {
	p := newPresence(s.pool.Config().ConnConfig, s.options)
	if err := p.connect(ctx); err != nil {
		return "", err
	}
	defer p.close(p.conn)
	var value string
	err := p.conn.QueryRow(ctx, "SHOW "+name).Scan(&value)
	return value, err
}
