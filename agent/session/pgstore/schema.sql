-- SPDX-License-Identifier: Apache-2.0

-- Version 1 of the tables and functions. SCHEMA is replaced by the name of the schema. Times are nanoseconds since 1970. Texts are
-- compared byte by byte.

CREATE SEQUENCE SCHEMA.tokens; -- of leases

CREATE TABLE SCHEMA.sessions (
	num bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	id text COLLATE "C" UNIQUE, -- NULL once it is deleted, if forks still need its entries
	title text NOT NULL,
	dir text COLLATE "C" NOT NULL,
	tenant text COLLATE "C" NOT NULL DEFAULT '',
	owner text COLLATE "C" NOT NULL DEFAULT '',
	vals text NOT NULL, -- a JSON object of strings, each of which is a JSON document
	created bigint NOT NULL,
	updated bigint NOT NULL,
	head bigint NOT NULL,
	size bigint NOT NULL,
	parent bigint REFERENCES SCHEMA.sessions,
	parent_id text COLLATE "C" NOT NULL,
	forked_at bigint NOT NULL,
	pinned bigint NOT NULL, -- entries up to here are those of forks, too
	token bigint NOT NULL,
	holder text NOT NULL,
	instance bigint NOT NULL, -- the advisory lock of whoever has the session, or 0 if it is free
	since bigint NOT NULL,
	rev bigint NOT NULL DEFAULT 0, -- of the last change of the inbox
	waiting bigint NOT NULL DEFAULT 0, -- items that are not notes
	dir_start text COLLATE "C" NOT NULL GENERATED ALWAYS AS (left(dir, 256)) STORED,
	-- The owner, and the tenant if there is one, after 1 for internal sessions and 0 for others. Neither has control characters.
	whose text COLLATE "C" NOT NULL GENERATED ALWAYS AS (CASE WHEN starts_with(dir, 'ponte:') THEN '1' ELSE '0' END || tenant || E'\x01' || owner) STORED,
	org text COLLATE "C" GENERATED ALWAYS AS (CASE WHEN tenant = '' THEN NULL WHEN starts_with(dir, 'ponte:') THEN '1' || tenant ELSE '0' || tenant END) STORED,
	internal boolean NOT NULL GENERATED ALWAYS AS (starts_with(dir, 'ponte:')) STORED
);
-- Internal sessions are kept apart, so that a list of conversations does not walk past them.
CREATE INDEX sessions_internal_updated ON SCHEMA.sessions (internal, updated, id) WHERE id IS NOT NULL;
CREATE INDEX sessions_internal_created ON SCHEMA.sessions (internal, created, id) WHERE id IS NOT NULL;
-- A list has one condition, because the server takes several for independent and so for rarer than they are. A row of an index has 2,704 bytes at most, so texts without a bound are indexed by their beginning.
CREATE INDEX sessions_dir_updated ON SCHEMA.sessions (dir_start, updated, id) WHERE id IS NOT NULL;
CREATE INDEX sessions_dir_created ON SCHEMA.sessions (dir_start, created, id) WHERE id IS NOT NULL;
CREATE INDEX sessions_owner_updated ON SCHEMA.sessions (whose, updated, id) WHERE id IS NOT NULL;
CREATE INDEX sessions_owner_created ON SCHEMA.sessions (whose, created, id) WHERE id IS NOT NULL;
CREATE INDEX sessions_tenant_updated ON SCHEMA.sessions (org, updated, id) WHERE id IS NOT NULL AND org IS NOT NULL;
CREATE INDEX sessions_tenant_created ON SCHEMA.sessions (org, created, id) WHERE id IS NOT NULL AND org IS NOT NULL;
CREATE INDEX sessions_waiting ON SCHEMA.sessions (waiting) WHERE waiting > 0;
CREATE INDEX sessions_instance ON SCHEMA.sessions (instance) WHERE instance <> 0;
CREATE INDEX sessions_parent_id ON SCHEMA.sessions (parent_id) WHERE parent_id <> '';
CREATE INDEX sessions_parent ON SCHEMA.sessions (parent) WHERE parent IS NOT NULL;

CREATE TABLE SCHEMA.entries (
	session bigint NOT NULL, -- kept by the functions below, under the lock of the session's row
	seq bigint NOT NULL,
	time bigint NOT NULL,
	kind text NOT NULL,
	run text COLLATE "C" NOT NULL,
	key text NOT NULL,
	place text COLLATE "C", -- what can take its place, or NULL
	data bytea,
	PRIMARY KEY (session, seq)
);
CREATE INDEX entries_place ON SCHEMA.entries (session, left(place, 256)) WHERE place IS NOT NULL;

CREATE TABLE SCHEMA.items (
	session bigint NOT NULL, -- kept by the functions below, under the lock of the session's row
	id text COLLATE "C" NOT NULL,
	pos bigint NOT NULL,
	version bigint NOT NULL,
	rev bigint NOT NULL,
	kind text COLLATE "C" NOT NULL,
	state text COLLATE "C" NOT NULL,
	time bigint NOT NULL,
	by text NOT NULL,
	digest text NOT NULL,
	data bytea,
	PRIMARY KEY (session, id)
);
CREATE INDEX items_rev ON SCHEMA.items (session, rev);
CREATE INDEX items_live ON SCHEMA.items (session, rev) WHERE state = '';

-- Data by its hash.
CREATE TABLE SCHEMA.blobs (
	key text COLLATE "C" PRIMARY KEY,
	data bytea NOT NULL,
	put bigint NOT NULL -- when it was put last, to the day or so
);
CREATE INDEX blobs_put ON SCHEMA.blobs (put);

-- alive reports whether the process with an advisory lock is there: nobody else can have the lock then. It gives the lock back at once and not
-- when the transaction ends, because the process may want it.
CREATE FUNCTION SCHEMA.alive(instance bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN instance = 0 THEN false WHEN pg_try_advisory_lock_shared(instance) THEN NOT pg_advisory_unlock_shared(instance) ELSE true END
$$;

-- acquire takes hold of a session. It returns no row if there is no session. Without a token the session is held.
CREATE FUNCTION SCHEMA.acquire(p_id text, p_force boolean, p_holder text, p_instance bigint, p_now bigint)
RETURNS TABLE (new_token bigint, last bigint, had text, had_since bigint) LANGUAGE plpgsql AS $$
DECLARE
	r SCHEMA.sessions;
BEGIN
	SELECT * INTO r FROM SCHEMA.sessions s WHERE s.id = p_id FOR UPDATE;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	last := r.head;
	had := r.holder;
	had_since := r.since;
	IF p_force OR NOT SCHEMA.alive(r.instance) THEN
		new_token := nextval('SCHEMA.tokens');
		UPDATE SCHEMA.sessions SET token = new_token, holder = p_holder, instance = p_instance, since = p_now WHERE num = r.num;
	END IF;
	RETURN NEXT;
END
$$;

-- has_room reports whether an owner has fewer than so many sessions. Until the transaction ends, nobody else makes one with a limit.
CREATE FUNCTION SCHEMA.has_room(p_tenant text, p_owner text, p_limit bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF p_limit = 0 THEN
		RETURN true;
	END IF;
	PERFORM pg_advisory_xact_lock(hashtextextended('ponte sessions of ' || length(p_tenant) || ' ' || p_tenant || ' ' || p_owner, 0));
	RETURN (SELECT count(*) FROM (SELECT FROM SCHEMA.sessions s WHERE s.id IS NOT NULL
		AND s.whose = '0' || p_tenant || E'\x01' || p_owner LIMIT p_limit) own) < p_limit;
END
$$;

-- create makes a session. It returns false if its owner has too many.
CREATE FUNCTION SCHEMA.create(p_id text, p_title text, p_dir text, p_tenant text, p_owner text, p_limit bigint, p_vals text, p_created bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF NOT SCHEMA.has_room(p_tenant, p_owner, p_limit) AND NOT EXISTS (SELECT FROM SCHEMA.sessions s WHERE s.id = p_id) THEN
		RETURN false;
	END IF;
	INSERT INTO SCHEMA.sessions (id, title, dir, tenant, owner, vals, created, updated, head, size, parent_id, forked_at, pinned, token, holder, instance, since)
	VALUES (p_id, p_title, p_dir, p_tenant, p_owner, p_vals, p_created, p_created, 0, 0, '', 0, 0, 0, '', 0, 0);
	RETURN true;
END
$$;

-- put adds an item to the inbox of a session, or finds the one with its id. It returns no row if there is no session.
CREATE FUNCTION SCHEMA.put(p_id text, p_item text, p_kind text, p_time bigint, p_by text, p_digest text, p_data bytea)
RETURNS TABLE (made boolean, i SCHEMA.items) LANGUAGE plpgsql AS $$
DECLARE
	r SCHEMA.sessions;
BEGIN
	SELECT * INTO r FROM SCHEMA.sessions s WHERE s.id = p_id FOR UPDATE;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	SELECT * INTO i FROM SCHEMA.items o WHERE o.session = r.num AND o.id = p_item;
	made := NOT FOUND;
	IF made THEN
		UPDATE SCHEMA.sessions s SET rev = s.rev + 1, waiting = s.waiting + CASE p_kind WHEN 'note' THEN 0 ELSE 1 END WHERE s.num = r.num;
		INSERT INTO SCHEMA.items (session, id, pos, version, rev, kind, state, time, by, digest, data)
			VALUES (r.num, p_item, r.rev + 1, 1, r.rev + 1, p_kind, '', p_time, p_by, p_digest, p_data) RETURNING * INTO i;
	END IF;
	RETURN NEXT;
END
$$;

-- change replaces the data of an item, or removes it. It returns no row if there is no session, and one with NULL if there is no item. It
-- says what it found: 'done', 'consumed', 'changed'.
CREATE FUNCTION SCHEMA.change(p_id text, p_item text, p_version bigint, p_remove boolean, p_data bytea)
RETURNS TABLE (outcome text, i SCHEMA.items) LANGUAGE plpgsql AS $$
DECLARE
	r SCHEMA.sessions;
BEGIN
	SELECT * INTO r FROM SCHEMA.sessions s WHERE s.id = p_id FOR UPDATE;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	SELECT * INTO i FROM SCHEMA.items o WHERE o.session = r.num AND o.id = p_item;
	outcome := CASE WHEN NOT FOUND THEN 'none' WHEN i.state <> '' THEN 'consumed' WHEN i.version <> p_version THEN 'changed' ELSE 'done' END;
	IF outcome = 'done' THEN
		UPDATE SCHEMA.sessions s SET rev = s.rev + 1, waiting = s.waiting - CASE WHEN p_remove AND i.kind <> 'note' THEN 1 ELSE 0 END WHERE s.num = r.num;
		UPDATE SCHEMA.items o SET rev = r.rev + 1, version = o.version + CASE WHEN p_remove THEN 0 ELSE 1 END,
			state = CASE WHEN p_remove THEN 'removed' ELSE '' END, data = p_data
			WHERE o.session = r.num AND o.id = p_item RETURNING * INTO i;
	END IF;
	RETURN NEXT;
END
$$;

-- append adds entries to a session and consumes items of its inbox. It returns no row if there is no session. Otherwise it says what it
-- found: 'done', 'lost', 'moved', and for the item that it names in had: 'none', 'note', 'consumed', 'changed'.
-- p_clear_key and p_clear_run say what an entry takes the place of. The "+ 0" keeps the server from looking for that by the numbers of entries, which
-- seems as good to it as the place if most sessions are small, and reads all of a large one.
CREATE FUNCTION SCHEMA.append(p_id text, p_token bigint, p_head bigint, p_soft boolean, p_seq bigint[], p_time bigint[], p_kind text[], p_run text[],
	p_key text[], p_place text[], p_clear_key text[], p_clear_run text[], p_data bytea[], p_items text[], p_versions bigint[])
RETURNS TABLE (outcome text, last bigint, had text, had_since bigint) LANGUAGE plpgsql AS $$
DECLARE
	r SCHEMA.sessions;
	n integer := coalesce(array_length(p_seq, 1), 0);
	added bigint := 0;
	gone bigint;
	latest bigint;
	m integer := coalesce(array_length(p_items, 1), 0);
	i SCHEMA.items;
BEGIN
	SELECT * INTO r FROM SCHEMA.sessions s WHERE s.id = p_id FOR UPDATE;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	last := r.head;
	IF r.token <> p_token OR r.instance = 0 THEN
		outcome := 'lost';
		IF SCHEMA.alive(r.instance) THEN
			had := r.holder;
			had_since := r.since;
		END IF;
		RETURN NEXT;
		RETURN;
	END IF;
	IF r.head <> p_head THEN
		outcome := 'moved';
		RETURN NEXT;
		RETURN;
	END IF;
	outcome := 'done';
	FOR j IN 1..m LOOP
		SELECT * INTO i FROM SCHEMA.items o WHERE o.session = r.num AND o.id = p_items[j];
		outcome := CASE WHEN NOT FOUND THEN 'none' WHEN i.kind = 'note' THEN 'note' WHEN i.state <> '' THEN 'consumed' WHEN i.version <> p_versions[j] THEN 'changed' ELSE 'done' END;
		IF outcome <> 'done' THEN
			had := p_items[j];
			RETURN NEXT;
			RETURN;
		END IF;
	END LOOP;
	FOR j IN 1..m LOOP
		UPDATE SCHEMA.items o SET rev = r.rev + j, state = 'consumed', data = NULL WHERE o.session = r.num AND o.id = p_items[j];
	END LOOP;
	IF m > 0 THEN
		UPDATE SCHEMA.sessions s SET rev = s.rev + m, waiting = s.waiting - m WHERE s.num = r.num;
	END IF;
	IF n = 0 THEN
		RETURN NEXT;
		RETURN;
	END IF;
	IF p_soft THEN
		PERFORM set_config('synchronous_commit', 'off', true);
	END IF;
	FOR i IN 1..n LOOP
		IF p_clear_key[i] IS NOT NULL THEN
			WITH old AS (DELETE FROM SCHEMA.entries e WHERE e.session = r.num AND e.seq + 0 > r.pinned
				AND left(e.place, 256) = left(p_clear_key[i], 256) AND e.place = p_clear_key[i] RETURNING e.data)
			SELECT coalesce(sum(octet_length(data)), 0) INTO gone FROM old;
			added := added - gone;
		END IF;
		IF p_clear_run[i] IS NOT NULL THEN
			-- With an OR the server would read all entries of the session that have a place.
			WITH old AS (DELETE FROM SCHEMA.entries e WHERE e.session = r.num AND e.seq + 0 > r.pinned
				AND left(e.place, 256) = left('run ' || p_clear_run[i], 256) AND e.place = 'run ' || p_clear_run[i] RETURNING e.data)
			SELECT coalesce(sum(octet_length(data)), 0) INTO gone FROM old;
			added := added - gone;
			-- '0' follows '/'
			WITH old AS (DELETE FROM SCHEMA.entries e WHERE e.session = r.num AND e.seq + 0 > r.pinned
				AND left(e.place, 256) >= left('run ' || p_clear_run[i] || '/', 256) AND left(e.place, 256) <= left('run ' || p_clear_run[i] || '0', 256)
				AND e.place >= 'run ' || p_clear_run[i] || '/'
				AND e.place < 'run ' || p_clear_run[i] || '0' RETURNING e.data)
			SELECT coalesce(sum(octet_length(data)), 0) INTO gone FROM old;
			added := added - gone;
		END IF;
		INSERT INTO SCHEMA.entries (session, seq, time, kind, run, key, place, data)
			VALUES (r.num, p_seq[i], p_time[i], p_kind[i], p_run[i], p_key[i], p_place[i], p_data[i]);
		added := added + coalesce(octet_length(p_data[i]), 0);
		latest := greatest(latest, p_time[i]);
	END LOOP;
	last := p_seq[n];
	UPDATE SCHEMA.sessions s SET head = last, size = s.size + added, updated = greatest(s.updated, latest) WHERE s.num = r.num;
	RETURN NEXT;
END
$$;

-- bury removes what nobody needs of a session that was deleted: its entries behind those that forks have, and all of it if there are no
-- forks. Then its parent may be needed no more.
CREATE FUNCTION SCHEMA.bury(p_num bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	r SCHEMA.sessions;
	shared bigint;
BEGIN
	LOOP
		SELECT * INTO r FROM SCHEMA.sessions s WHERE s.num = p_num FOR UPDATE;
		IF NOT FOUND OR r.id IS NOT NULL THEN
			RETURN;
		END IF;
		SELECT max(c.forked_at) INTO shared FROM SCHEMA.sessions c WHERE c.parent = p_num;
		DELETE FROM SCHEMA.entries e WHERE e.session = p_num AND e.seq > coalesce(shared, 0);
		IF shared IS NOT NULL THEN
			RETURN;
		END IF;
		DELETE FROM SCHEMA.sessions s WHERE s.num = p_num;
		IF r.parent IS NULL THEN
			RETURN;
		END IF;
		p_num := r.parent;
	END LOOP;
END
$$;

-- remove deletes a session. It returns no row if there is no session, and who has it if somebody does.
CREATE FUNCTION SCHEMA.remove(p_id text) RETURNS TABLE (held boolean, had text, had_since bigint) LANGUAGE plpgsql AS $$
DECLARE
	r SCHEMA.sessions;
BEGIN
	SELECT * INTO r FROM SCHEMA.sessions s WHERE s.id = p_id FOR UPDATE;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	held := SCHEMA.alive(r.instance);
	had := r.holder;
	had_since := r.since;
	IF NOT held THEN
		UPDATE SCHEMA.sessions s SET id = NULL, instance = 0 WHERE s.num = r.num;
		DELETE FROM SCHEMA.items o WHERE o.session = r.num;
		PERFORM SCHEMA.bury(r.num);
	END IF;
	RETURN NEXT;
END
$$;

-- fork makes a session that has the entries of another one up to a number. It returns no row if there is no such session, and only its
-- head if the number is not one of it, and room is false if its owner has too many. Values that are null are those that it does not have.
CREATE FUNCTION SCHEMA.fork(p_id text, p_at bigint, p_new text, p_title text, p_dir text, p_tenant text, p_owner text, p_limit bigint, p_vals text, p_created bigint)
RETURNS TABLE (made boolean, room boolean, last bigint) LANGUAGE plpgsql AS $$
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
	room := true;
	IF p_tenant = '' AND p_owner = '' THEN
		p_tenant := r.tenant;
		p_owner := r.owner;
	END IF;
	IF made AND NOT SCHEMA.has_room(p_tenant, p_owner, p_limit) AND NOT EXISTS (SELECT FROM SCHEMA.sessions s WHERE s.id = p_new) THEN
		made := false;
		room := false;
	END IF;
	IF made THEN
		INSERT INTO SCHEMA.sessions (id, title, dir, tenant, owner, vals, created, updated, head, size, parent, parent_id, forked_at, pinned, token, holder, instance, since)
		VALUES (p_new, CASE p_title WHEN '' THEN r.title ELSE p_title END, CASE p_dir WHEN '' THEN r.dir ELSE p_dir END, p_tenant, p_owner,
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
