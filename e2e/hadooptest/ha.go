package hadooptest

import (
	"context"
	"fmt"
	"time"
)

const haAdmin = "org.apache.hadoop.hdfs.tools.DFSHAAdmin"

// Active makes name node i of a pair the active name node, even if the other does not answer. The
// other must be standby or dead, because nothing stops it from writing. If it was suspended while
// active, it must be killed, and never resumed.
func (c *Cluster) Active(ctx context.Context, i int) error {
	if err := c.waitStandby(ctx, i); err != nil {
		return err
	}
	var err error
	for range 3 { // a busy machine may break the connection, and a repetition does no harm
		if _, err = c.Java(ctx, haAdmin, "-D", "ipc.client.connect.max.retries=0",
			"-transitionToActive", "--forceactive", c.NameNodes[i].Name); err == nil {
			return nil
		}
	}
	return err
}

// Failover makes name node from standby, and then name node to active. Both must be alive.
func (c *Cluster) Failover(ctx context.Context, from, to int) error {
	if err := c.waitStandby(ctx, to); err != nil {
		return err
	}
	_, err := c.Java(ctx, haAdmin, "-failover", c.NameNodes[from].Name, c.NameNodes[to].Name)
	return err
}

// waitStandby waits until name node i has loaded its state.
func (c *Cluster) waitStandby(ctx context.Context, i int) error {
	nn := c.NameNodes[i]
	for {
		var status struct{ State string }
		err := c.bean(ctx, nn, "NameNodeStatus", &status)
		if err == nil && (status.State == "standby" || status.State == "active") {
			return nil
		}
		if err := nn.failure(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s, which is %q: %w: %w", nn.Name, status.State, ctx.Err(), err)
		case <-time.After(poll):
		}
	}
}
