package hadooptest

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Pipeline returns the data nodes of the last block of a file, in the order in which they
// receive its bytes.
func (c *Cluster) Pipeline(ctx context.Context, path string) ([]*Daemon, error) {
	text, err := c.Do(ctx, "GET", path, "op=GET_BLOCK_LOCATIONS")
	if err != nil {
		return nil, err
	}
	var answer struct {
		LocatedBlocks struct {
			LastLocatedBlock struct {
				Locations []struct{ XferPort int }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return nil, fmt.Errorf("the locations of %s: %w", path, err)
	}
	var nodes []*Daemon
	for _, l := range answer.LocatedBlocks.LastLocatedBlock.Locations {
		for _, dn := range c.DataNodes {
			if dn.listensOn(l.XferPort) {
				nodes = append(nodes, dn)
			}
		}
	}
	return nodes, nil
}

// listensOn reports whether a data node receives blocks on a port.
func (d *Daemon) listensOn(port int) bool {
	for _, a := range d.args {
		if strings.HasPrefix(a, "dfs.datanode.address=") && strings.HasSuffix(a, ":"+strconv.Itoa(port)) {
			return true
		}
	}
	return false
}
