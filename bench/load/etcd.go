package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// sessionSeconds outlasts any run, so that no keep-alive disturbs the measurement.
const sessionSeconds = 3600

// etcdTarget has one client for each connection, for a client of etcd's has one connection only.
type etcdTarget struct {
	clients []*clientv3.Client
}

func dialEtcd(ctx context.Context, addr string, connections int) (*etcdTarget, error) {
	target := &etcdTarget{}
	for range connections {
		client, err := clientv3.New(clientv3.Config{
			Context:     ctx,
			Endpoints:   []string{addr},
			DialTimeout: 5 * time.Second,
			Logger:      zap.NewNop(),
		})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("connect to etcd at %s: %w", addr, err), target.close())
		}
		target.clients = append(target.clients, client)
	}
	return target, nil
}

// etcdCaller does what etcd's own mutex does, without its queue of waiters, and with one session
// for all cycles: a put and a delete, each guarded by the key's create revision. That is the least
// etcd can do for a lease that is exclusive and fenced (the create revision is the fencing token),
// and so the comparison that suits it best.
type etcdCaller struct {
	client   *clientv3.Client
	session  clientv3.LeaseID
	key      string
	revision int64
}

func (t *etcdTarget) join(ctx context.Context, number int) (caller, error) {
	client := t.clients[number%len(t.clients)]
	granted, err := client.Grant(ctx, sessionSeconds)
	if err != nil {
		return nil, err
	}
	return &etcdCaller{client: client, session: granted.ID, key: taskID(number)}, nil
}

func (c *etcdCaller) acquire(ctx context.Context) error {
	// The value is as long as the agent id that Tipstaff stores.
	holder := fmt.Sprintf("%032x", int64(c.session))
	reply, err := c.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(c.key), "=", 0)).
		Then(clientv3.OpPut(c.key, holder, clientv3.WithLease(c.session))).
		Commit()
	if err != nil {
		return err
	}
	if !reply.Succeeded {
		return fmt.Errorf("%s is held by another", c.key)
	}
	c.revision = reply.Header.Revision
	return nil
}

func (c *etcdCaller) release(ctx context.Context) error {
	reply, err := c.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(c.key), "=", c.revision)).
		Then(clientv3.OpDelete(c.key)).
		Commit()
	if err != nil {
		return err
	}
	if !reply.Succeeded || reply.Responses[0].GetResponseDeleteRange().Deleted != 1 {
		return fmt.Errorf("%s was lost before its release", c.key)
	}
	return nil
}

func (c *etcdCaller) leave(ctx context.Context) error {
	_, err := c.client.Revoke(ctx, c.session)
	return err
}

func (t *etcdTarget) close() error {
	var failed error
	for _, client := range t.clients {
		failed = errors.Join(failed, client.Close())
	}
	return failed
}
