/**
 * Numbers the events of each tree separately. The former `seq` becomes the `position` in the log of all trees.
 * `tree_seq` counts the events of one tree, whose last number stays in `event_counter` when events are pruned or the
 * tree is deleted.
 */
import { migration } from "../internal/migration.ts"

export const treeNumbers = migration(({ number, text }) => [
  "ALTER TABLE event RENAME COLUMN seq TO position",
  `ALTER TABLE event ADD COLUMN tree_seq ${number} NOT NULL DEFAULT 0`,
  `UPDATE event SET tree_seq = numbered.number
    FROM (SELECT position, row_number() OVER (PARTITION BY root_id ORDER BY position) AS number FROM event) AS numbered
    WHERE numbered.position = event.position`,
  "DROP INDEX event_root",
  "CREATE UNIQUE INDEX event_number ON event (root_id, tree_seq)",
  `CREATE TABLE event_counter (root_id ${text} PRIMARY KEY, last ${number} NOT NULL)`,
  "INSERT INTO event_counter (root_id, last) SELECT root_id, max(tree_seq) FROM event GROUP BY root_id"
])
