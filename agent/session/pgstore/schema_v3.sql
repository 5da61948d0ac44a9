-- SPDX-License-Identifier: Apache-2.0

-- Version 3 keeps internal sessions apart in the indexes, so that a list of conversations does not walk past them.

ALTER TABLE SCHEMA.sessions ADD COLUMN internal boolean NOT NULL GENERATED ALWAYS AS (starts_with(dir, 'ponte:')) STORED;
DROP INDEX SCHEMA.sessions_updated;
DROP INDEX SCHEMA.sessions_created;
CREATE INDEX sessions_internal_updated ON SCHEMA.sessions (internal, updated, id) WHERE id IS NOT NULL;
CREATE INDEX sessions_internal_created ON SCHEMA.sessions (internal, created, id) WHERE id IS NOT NULL;

-- fork makes a session that has the entries of another one up to a number. It returns no row if there is no such session, and only its
-- head if the number is not one of it. Values that are null are those that it does not have; up to version 2 it had those of the other session.
CREATE OR REPLACE FUNCTION SCHEMA.fork(p_id text, p_at bigint, p_new text, p_title text, p_dir text, p_vals text, p_created bigint)
RETURNS TABLE (made boolean, last bigint) LANGUAGE plpgsql AS $$
DECLARE
	r SCHEMA.sessions;
	up SCHEMA.sessions;
	upto bigint := p_at;
BEGIN
	SELECT * INTO r FROM SCHEMA.sessions s WHERE s.id = p_id FOR UPDATE;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	last := r.head;
	made := p_at >= 0 AND p_at <= r.head;
	IF made THEN
		INSERT INTO SCHEMA.sessions (id, title, dir, vals, created, updated, head, size, parent, parent_id, forked_at, pinned, token, holder, instance, since)
		VALUES (p_new, CASE p_title WHEN '' THEN r.title ELSE p_title END, CASE p_dir WHEN '' THEN r.dir ELSE p_dir END,
			jsonb_strip_nulls(r.vals::jsonb || p_vals::jsonb)::text, p_created, p_created, p_at, 0, r.num, r.id, p_at, 0, 0, '', 0, 0);
		up := r;
		LOOP
			UPDATE SCHEMA.sessions s SET pinned = greatest(s.pinned, upto) WHERE s.num = up.num;
			EXIT WHEN up.parent IS NULL;
			upto := least(upto, up.forked_at);
			SELECT * INTO up FROM SCHEMA.sessions s WHERE s.num = up.parent FOR UPDATE;
		END LOOP;
	END IF;
	RETURN NEXT;
END
$$;
