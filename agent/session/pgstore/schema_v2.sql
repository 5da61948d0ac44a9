-- SPDX-License-Identifier: Apache-2.0

-- Version 2 adds blobs: data by its hash.

CREATE TABLE SCHEMA.blobs (
	key text COLLATE "C" PRIMARY KEY,
	data bytea NOT NULL,
	put bigint NOT NULL -- when it was put last, to the day or so
);
CREATE INDEX blobs_put ON SCHEMA.blobs (put);
