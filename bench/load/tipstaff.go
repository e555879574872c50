package main

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"

	agentkeeper "tipstaff/bench/load/gen/agentkeeper/v1"
)

const (
	leaseSeconds = 60
	// agentSeconds outlasts any run, so that no heartbeat disturbs the measurement.
	agentSeconds = 86_400
)

type tipstaffTarget struct {
	connections []*grpc.ClientConn
}

func dialTipstaff(ctx context.Context, addr string, connections int) (*tipstaffTarget, error) {
	target := &tipstaffTarget{}
	for range connections {
		// Each ClientConn has a TCP connection of its own.
		connection, err := grpc.NewClient("passthrough:///"+addr,
			grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, errors.Join(err, target.close())
		}
		target.connections = append(target.connections, connection)
		if err := untilReady(ctx, connection); err != nil {
			return nil, errors.Join(fmt.Errorf("connect to %s: %w", addr, err), target.close())
		}
	}
	return target, nil
}

func untilReady(ctx context.Context, connection *grpc.ClientConn) error {
	connection.Connect()
	for {
		state := connection.GetState()
		switch state {
		case connectivity.Ready:
			return nil
		case connectivity.TransientFailure, connectivity.Shutdown:
			return fmt.Errorf("connection is in state %s", state)
		}
		if !connection.WaitForStateChange(ctx, state) {
			return context.Cause(ctx)
		}
	}
}

type tipstaffCaller struct {
	registry agentkeeper.RegistryServiceClient
	leases   agentkeeper.LeaseServiceClient
	agentID  string
	taskID   string
	token    *agentkeeper.FencingToken
}

func (t *tipstaffTarget) join(ctx context.Context, number int) (caller, error) {
	caller, err := t.register(ctx, number)
	if err != nil {
		return nil, err
	}
	return caller, nil
}

func (t *tipstaffTarget) register(ctx context.Context, number int) (*tipstaffCaller, error) {
	connection := t.connection(number)
	registry := agentkeeper.NewRegistryServiceClient(connection)
	reply, err := registry.Register(ctx, &agentkeeper.RegisterRequest{
		Card:       &agentkeeper.AgentCard{Name: fmt.Sprintf("load-%d", number)},
		TtlSeconds: agentSeconds,
	})
	if err != nil {
		return nil, err
	}
	return &tipstaffCaller{
		registry: registry,
		leases:   agentkeeper.NewLeaseServiceClient(connection),
		agentID:  reply.GetAgentId(),
		taskID:   taskID(number),
	}, nil
}

func (t *tipstaffTarget) connection(number int) *grpc.ClientConn {
	return t.connections[number%len(t.connections)]
}

func (c *tipstaffCaller) acquire(ctx context.Context) error {
	reply, err := c.leases.AcquireLease(ctx, &agentkeeper.AcquireLeaseRequest{
		TaskId: c.taskID, AgentId: c.agentID, TtlSeconds: leaseSeconds,
	})
	if err != nil {
		return err
	}
	token := reply.GetLease().GetToken()
	if !reply.GetAcquired() || token.GetValue() <= c.token.GetValue() {
		return fmt.Errorf("%s: acquired %t, token %d after %d",
			c.taskID, reply.GetAcquired(), token.GetValue(), c.token.GetValue())
	}
	c.token = token
	return nil
}

func (c *tipstaffCaller) release(ctx context.Context) error {
	_, err := c.leases.ReleaseLease(ctx, &agentkeeper.ReleaseLeaseRequest{
		TaskId: c.taskID, AgentId: c.agentID, Token: c.token,
	})
	return err
}

func (c *tipstaffCaller) leave(ctx context.Context) error {
	_, err := c.registry.Deregister(ctx, &agentkeeper.DeregisterRequest{AgentId: c.agentID})
	return err
}

func (t *tipstaffTarget) close() error {
	var failed error
	for _, connection := range t.connections {
		failed = errors.Join(failed, connection.Close())
	}
	return failed
}

// taskID gives each caller a lease of its own: the question is speed, not contention.
func taskID(number int) string {
	return fmt.Sprintf("load-%d", number)
}
