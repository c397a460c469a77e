package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job/task"
)

const submitLong = `Convert as convert does, but divide the work into tasks (the plan), and run them
on the nodes of a Hadoop cluster. The tasks are the map tasks of one MapReduce
job on YARN. YARN prefers nodes that hold the input of a task. INPUT and DEST
must be on HDFS (hdfs://, webhdfs://). The machine that runs submit needs
Hadoop's client programs, "mapred" and "yarn". Nothing needs to be installed on
the nodes. The output, the exit codes and the other flags are those of convert.

--memory and --workers apply to each task. The container of a task gets the
memory of --memory, plus 48 MiB, plus 256 MiB for Java. It gets as many vcores
as --workers says.

The same command again continues where an earlier run stopped. If the job of
that run is still running, submit follows it. Then it starts a job for the tasks
that are left. A signal, or the end of --max-runtime, kills the job. With
--detach, submit starts the job and ends with 0, and the job continues. To
publish the output, run "submit --attach ID" or the same command again: it
follows the job to its end. "submit --cancel ID" kills the job.`

const submitExample = `  # convert a directory on HDFS, on the nodes that hold its files if possible
  rowtocol submit hdfs:///data/mail hdfs:///data/mail.columns

  # in a queue, with two cores for each task and a Hadoop property
  rowtocol submit --queue etl --workers 2 -D mapreduce.job.priority=LOW \
    hdfs:///data/mail hdfs:///data/mail.columns

  # start it, and come back later
  rowtocol submit --detach hdfs:///data/mail hdfs:///data/mail.columns
  rowtocol submit --attach application_1767500000000_0042`

// submitCommand is rowtocol submit. It is also the engine, which uses a scheduler.
type submitCommand struct {
	convertCommand
	options  task.RemoteOptions // the flags set them
	attach   string
	cancel   string
	cluster  scheduler
	last     task.RemoteJob // the last job
	detached bool
}

func newSubmitCommand(a *app) *cobra.Command {
	s := newSubmission(a)
	cmd := &cobra.Command{
		Use:     "submit [INPUT... DEST]",
		Short:   "Convert Avro files on the nodes of a Hadoop cluster",
		Long:    submitLong,
		Example: submitExample,
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer s.reportJob()
			return s.execute(cmd.Context())
		},
	}
	a.Begins(cmd, func(args []string) error { return s.begin(cmd, args) })
	s.add(cmd)
	flags := cmd.Flags()
	s.cluster.AddFlags(flags)
	flags.BoolVar(&s.options.Detach, "detach", false, "start the job, print its ID and where to follow it, and end without publishing anything")
	flags.StringVar(&s.cancel, "cancel", "", "kill the application or job with this `ID`; the work of finished tasks stays; give no INPUT and DEST")
	flags.StringVar(&s.attach, "attach", "", "follow the application or job with this `ID`, and publish its output; give no INPUT and DEST")
	// These two flags of all commands apply to the tasks here.
	flags.Var((*cli.LargeSize)(&s.Memory), "memory", "limit for the memory of each task; its container gets 48 MiB more, plus 256 MiB for Java")
	flags.IntVar(&s.options.Workers, "workers", 1, "`number` of workers of each task, and of vcores of its container; the number never changes the output")
	return cmd
}

func newSubmission(a *app) *submitCommand {
	s := &submitCommand{cluster: schedulers[0](), convertCommand: convertCommand{requestFlags: requestFlags{outcomes: outcomes{a}}}}
	s.engine = s
	return s
}

// begin takes the arguments, and logs the start of the run.
func (s *submitCommand) begin(cmd *cobra.Command, args []string) error {
	s.Workers, s.options.Restart = s.options.Workers, s.req.Restart
	flag, id := s.aboutJob()
	if flag == "" {
		return s.convertCommand.begin(cmd, args)
	}
	if err := s.checkOfJob(flag, id, args); err != nil {
		return err
	}
	s.LogStart("application", id)
	return nil
}

// aboutJob returns the flag that names a job, and the ID of the job. flag is empty if the run starts
// a job.
func (s *submitCommand) aboutJob() (flag, id string) {
	switch {
	case s.Flags.Changed("cancel"):
		return "cancel", s.cancel
	case s.Flags.Changed("attach"):
		return "attach", s.attach
	}
	return "", ""
}

func (s *submitCommand) execute(ctx context.Context) error {
	switch flag, _ := s.aboutJob(); flag {
	case "cancel":
		return s.cancelJob(ctx)
	case "attach":
		return s.follow(ctx)
	}
	return s.convertCommand.execute(ctx)
}

// checkOfJob refuses other flags on the command line with --attach or --cancel. A job file may
// have them, because other runs use it, too.
func (s *submitCommand) checkOfJob(flag, id string, args []string) error {
	for _, name := range []string{"input", "dest"} {
		if s.OnCommandLine(name) {
			return cli.Usagef("--%s knows inputs and destination from the job: leave out --%s", flag, name)
		}
	}
	switch {
	case id == "": // such as an unset variable of a script
		return cli.Usagef("--%s needs the ID of an application or a job", flag)
	case len(args) > 0:
		return cli.Usagef("--%s knows inputs and destination from the job: leave out the arguments", flag)
	case s.options.Detach:
		return cli.Usagef("--%s is about a job that runs, and --detach starts one: leave out one of them", flag)
	case s.dryRun:
		return cli.Usagef("--%s is about a job that runs: leave out --dry-run", flag)
	case s.attach != "" && s.cancel != "":
		return cli.Usagef("--attach follows a job, and --cancel ends it: leave out one of them")
	}
	return nil
}

// onCluster is the part of the final JSON object that submit has, and convert has not. It
// describes the last job, and is empty if no job was needed.
type onCluster struct {
	Application string `json:"application"`
	Job         string `json:"job"`
	TrackingURL string `json:"tracking_url"`
	// Detached is set if the job runs on, and its output is not published.
	Detached bool `json:"detached"`
	// Cancelled is set if --cancel killed the job.
	Cancelled bool                        `json:"cancelled,omitempty"`
	Counters  map[string]map[string]int64 `json:"counters"` // counters by group and name
}

// submitted is the result of submit in the final JSON object.
type submitted struct {
	converted
	*onCluster
}

// submittedPartitions is the result of submit --partitioned.
type submittedPartitions struct {
	*partitioned
	*onCluster
}
