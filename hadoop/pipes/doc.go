// Package pipes is the child's side of Hadoop Pipes: the process of a map task uses it
// to talk with the JVM that started it. It needs no Java and no Hadoop library. It only
// supports map tasks that read their input themselves.
//
// Hadoop's side is org.apache.hadoop.mapred.pipes, whose classes Application,
// BinaryProtocol and PipesMapRunner are the specification. Hadoop 3.1 to 3.5 differ in
// the names of two variables, and in the hash of the authentication, which can be
// configured since 3.5.
//
// # The exchange
//
//	Java                                               child
//	listens on a port, writes the job's secret
//	to ./jobTokenPassword, starts the child,
//	waits until it connects
//	        <---------------- connects ----------------
//	        --- AUTHENTICATION_REQ  digest challenge -->  digest = hmac(challenge)?
//	        <-- AUTHENTICATION_RESP answer ------------   answer = hmac(digest)
//	        --- START        version ----------------->
//	        --- SET_JOB_CONF properties -------------->
//	        --- RUN_MAP      split ------------------->
//	        <-- REGISTER_COUNTER number group name ----   each once, in the order of numbers
//	        <-- INCREMENT_COUNTER number amount -------   from here on any number of times,
//	        <-- PROGRESS     fraction -----------------   in any order
//	        <-- STATUS       text ---------------------
//	        <-- DONE ----------------------------------
//	closes the connection                              ends
//
// # Messages
//
// A message is its code, a VInt, and its fields:
//
//	 0 START                | version: VInt, 0 |
//	 1 SET_JOB_CONF         | 2 * properties: VInt | name: text | value: text | name | value | …
//	 3 RUN_MAP              | size: VInt | split: size bytes | reduces: VInt | records of Java: VInt, 0 or 1 |
//	 8 CLOSE                |
//	 9 ABORT                |
//	10 AUTHENTICATION_REQ   | digest: text | challenge: text |
//	52 STATUS               | text |
//	53 PROGRESS             | fraction: 4 bytes, IEEE 754, big-endian |
//	54 DONE                 |
//	55 REGISTER_COUNTER     | number: VInt | group: text | name: text |
//	56 INCREMENT_COUNTER    | number: VInt | amount: VLong |
//	57 AUTHENTICATION_RESP  | answer: text |
//
//	split     | path: text | start: 8 bytes | length: 8 bytes |      a FileSplit; big-endian
//	text      | size: VInt | UTF-8: size bytes |
//	VInt and  | n |                                  -112 to 127: the byte itself
//	VLong     | -112-k | n: k bytes, big-endian |    from 128 on; k is 1 to 8
//	          | -120-k | ^n: k bytes, big-endian |   below -112
//
// A digest is the HMAC of a text with the bytes of the secret's file as the key, in
// base64: 28 characters of SHA-1, or longer ones of SHA-2.
//
// Jobs of this program do not use the other messages, and a task that begins with one of
// them is rejected. SET_INPUT_TYPES (2) and MAP_ITEM (4) are for records that Java reads.
// RUN_REDUCE (5), REDUCE_KEY (6) and REDUCE_VALUE (7) are for reduces. OUTPUT (50) and
// PARTITIONED_OUTPUT (51) are for the output of jobs.
//
// # Ends
//
// Reactions of Java, measured on Hadoop 3.5.0:
//
//	the child sends DONE                Java closes the connection in a millisecond, does not
//	                                    wait for the child, ends the task in half a second, and
//	                                    remaining processes get SIGTERM, then SIGKILL
//	the child hangs up before that,     ABORT, the connection closed, SIGTERM to the child, all
//	or sends what Java cannot read      in two milliseconds; the attempt has failed
//	the child ends before it connects   Java waits until mapreduce.task.timeout
//	neither PROGRESS nor STATUS for     SIGQUIT, on which a Go program prints its stacks into
//	mapreduce.task.timeout              the container's stderr and ends, then as if killed
//	the JVM is killed                   the connection closed without ABORT, then SIGTERM
//	the attempt or the job is killed    SIGTERM to the JVM and the child, SIGKILL a quarter of a
//	                                    second later (yarn.nodemanager.sleep-delay-before-sigkill.ms)
//
// Java does not get the exit code, and does not keep the STATUS of an attempt that fails.
// INCREMENT_COUNTER does not reset the timeout of the task. If its number is not registered,
// the attempt fails. Java discards messages after DONE. If mapreduce.task.userlog.limit.kb
// is set, a shell runs between Java and the child, and gets the SIGTERM of a failed attempt
// instead of the child. The child then sees only ABORT and the closed connection.
package pipes
