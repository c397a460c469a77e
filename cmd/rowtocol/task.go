package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

const taskLong = `Run tasks of a plan, and leave their files for "rowtocol commit" in a directory
below DEST/.rowtocol, which readers ignore. Tasks are independent. They may run
in any order and on several machines, and one task may run several times, even
at the same time. If a task is already finished, it does not run again.

Give --task or --share, not both. --task names tasks by their numbers. --share
I/N runs task I and each N-th task after it. The shares 0/N to N-1/N together
run all tasks, no matter how many the plan has.`

// taskCommand is rowtocol task.
type taskCommand struct {
	outcomes
	file    string
	numbers []int
	share   string
}

func newTaskCommand(a *app) *cobra.Command {
	c := &taskCommand{outcomes: outcomes{a}}
	cmd := &cobra.Command{
		Use:     "task --plan FILE (--task N | --share I/N)",
		Short:   "Run tasks of a plan",
		Long:    taskLong,
		Example: "  rowtocol task --plan plan.json --task 0\n  rowtocol task --plan hdfs://nn/plans/mail.json --task 3,4\n  rowtocol task --plan plan.json --share 0/8",
		Args:    a.Takes(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.execute(cmd.Context()) },
	}
	a.Begins(cmd, func([]string) error {
		c.LogStart("plan_file", store.Showable(c.file), "numbers", c.numbers, "share", c.share)
		return nil
	})
	flags := cmd.Flags()
	flags.StringVar(&c.file, "plan", "", "`file` with the plan")
	flags.IntSliceVar(&c.numbers, "task", nil, "`number` of a task, from 0; or several numbers, separated by commas; repeatable")
	flags.StringVar(&c.share, "share", "", "`I/N`: run task I, numbered from 0, and each N-th task after it")
	c.AddExitNothing(flags)
	c.AddMaxRuntime(flags)
	return cmd
}

// tasksDone is the result of task in the final JSON object.
type tasksDone struct {
	*cli.Figures
	Plan  string `json:"plan"`
	Tasks []int  `json:"tasks"`
	Done  int    `json:"done_before"`
	Rows  int64  `json:"rows"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

// tasksOf returns the numbers of the tasks of a plan. A share may have none.
func (c *taskCommand) tasksOf(plan *manifest.Plan) ([]int, error) {
	if c.share != "" {
		return shareOf(c.share, len(plan.Tasks))
	}
	//guard: runs a task once even if it is named twice
	numbers := slices.DeleteFunc(c.numbers, again())
	for _, n := range numbers {
		if n < 0 || n >= len(plan.Tasks) {
			return nil, cli.Usagef("--task: there is no task %d in plan %s, which has %d tasks, numbered from 0", n, plan.ID, len(plan.Tasks))
		}
	}
	return numbers, nil
}

// shareOf returns the numbers of the tasks of a share, which is written I/N.
func shareOf(share string, tasks int) (numbers []int, err error) {
	number, shares, _ := strings.Cut(share, "/")
	i, err := strconv.Atoi(number)
	n, countErr := strconv.Atoi(shares)
	if err != nil || countErr != nil || i < 0 || i >= n {
		return nil, cli.Usagef("--share: %q is not I/N with I from 0 to N-1", share)
	}
	for task := range tasks {
		if task%n == i {
			numbers = append(numbers, task)
		}
	}
	return numbers, nil
}

func (c *taskCommand) execute(ctx context.Context) error {
	if (len(c.numbers) == 0) == (c.share == "") {
		return cli.Usagef("--task: name tasks by their numbers, or a share of them by --share")
	}
	plan, err := c.readPlan(ctx, c.file)
	if err != nil {
		return err
	}
	numbers, err := c.tasksOf(plan)
	if err != nil {
		return err
	}
	var total int64
	for _, n := range numbers {
		total += plan.Tasks[n].Bytes()
	}
	c.About(plan, numbers)
	p, stop := c.StartProgress(ctx)
	defer stop()
	var converted int64
	o := job.Options{Environment: c.environment(), Progress: func(s job.Progress) {
		converted, s.TotalBytes = s.Bytes, total
		showProgress(p, s)
	}}
	results, done, err := job.RunTasks(ctx, plan, o, numbers)
	stop()
	if err != nil {
		return damageHelp(err, plan.Request.Options.OnDamage)
	}
	c.tallyTasks(plan, numbers, results, done, converted)
	out := tasksDone{Figures: &c.Figures, Plan: plan.ID, Tasks: cli.OrEmpty(numbers), Done: done, Rows: c.Run.Rows, Files: c.Run.Files, Bytes: c.Run.Bytes}
	c.Result = out
	if done == len(numbers) {
		c.nothing()
	}
	c.Summary("%s of plan %s: %s in %s, %s%s\n", cli.Plural(len(numbers), "task"), plan.ID,
		cli.Plural(out.Rows, "row"), cli.Plural(out.Files, "file"), cli.Human(out.Bytes), doneBefore(done))
	return nil
}

// again returns a function that reports whether an earlier call had the same number.
func again() func(n int) bool {
	seen := make(map[int]bool)
	return func(n int) bool {
		was := seen[n]
		seen[n] = true
		return was
	}
}

// doneBefore describes the tasks that were not run again, for a summary.
func doneBefore(tasks int) string {
	switch tasks {
	case 0:
		return ""
	case 1:
		return "; 1 task was done before"
	}
	return fmt.Sprintf("; %d tasks were done before", tasks)
}

// readPlan reads a plan. It refuses a plan that was altered, or is of another version.
func (a *outcomes) readPlan(ctx context.Context, file string) (*manifest.Plan, error) {
	if file == "" {
		return nil, cli.Usagef("--plan: name the file with the plan")
	}
	at, err := a.Resolve(file)
	if err != nil {
		return nil, err
	}
	doc, err := cli.ReadDocument(ctx, "--plan", file, at, manifest.MaxSize)
	if err != nil {
		return nil, err
	}
	p, err := manifest.DecodePlan(doc)
	if err != nil {
		return nil, failure.New(failure.Foreign, "--plan: %s: %w", file, err)
	}
	return p, nil
}
