-- SPDX-License-Identifier: Apache-2.0

-- Version 4 changes functions only: the end of a turn reads the steps of its run and not the whole session, and looking whether a process is there
-- does not keep its lock until the transaction ends, because the process may want it back.

-- alive reports whether the process with an advisory lock is there: nobody else can have the lock then.
CREATE OR REPLACE FUNCTION SCHEMA.alive(instance bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN instance = 0 THEN false WHEN pg_try_advisory_lock_shared(instance) THEN NOT pg_advisory_unlock_shared(instance) ELSE true END
$$;

-- append adds entries to a session. It returns no row if there is no session. Otherwise it says what it found: 'done', 'lost', 'moved'.
-- p_clear_key and p_clear_run say what an entry takes the place of. The "+ 0" keeps the server from looking for that by the numbers of entries, which
-- seems as good to it as the place if most sessions are small, and reads all of a large one.
CREATE OR REPLACE FUNCTION SCHEMA.append(p_id text, p_token bigint, p_head bigint, p_soft boolean, p_seq bigint[], p_time bigint[], p_kind text[], p_run text[],
	p_key text[], p_place text[], p_clear_key text[], p_clear_run text[], p_data bytea[])
RETURNS TABLE (outcome text, last bigint, had text, had_since bigint) LANGUAGE plpgsql AS $$
DECLARE
	r SCHEMA.sessions;
	n integer := coalesce(array_length(p_seq, 1), 0);
	added bigint := 0;
	gone bigint;
	latest bigint;
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
	IF n = 0 THEN
		RETURN NEXT;
		RETURN;
	END IF;
	IF p_soft THEN
		PERFORM set_config('synchronous_commit', 'off', true);
	END IF;
	FOR i IN 1..n LOOP
		IF p_clear_key[i] IS NOT NULL THEN
			WITH old AS (DELETE FROM SCHEMA.entries e WHERE e.session = r.num AND e.seq + 0 > r.pinned AND e.place = p_clear_key[i] RETURNING e.data)
			SELECT coalesce(sum(octet_length(data)), 0) INTO gone FROM old;
			added := added - gone;
		END IF;
		IF p_clear_run[i] IS NOT NULL THEN
			-- With an OR the server would read all entries of the session that have a place.
			WITH old AS (DELETE FROM SCHEMA.entries e WHERE e.session = r.num AND e.seq + 0 > r.pinned AND e.place = 'run ' || p_clear_run[i] RETURNING e.data)
			SELECT coalesce(sum(octet_length(data)), 0) INTO gone FROM old;
			added := added - gone;
			-- '0' follows '/'
			WITH old AS (DELETE FROM SCHEMA.entries e WHERE e.session = r.num AND e.seq + 0 > r.pinned AND e.place >= 'run ' || p_clear_run[i] || '/'
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
