// A whole HTTP server on a fake model, for bench/overhead.py: overhead_server [THREADS]
//
// Prints its address as the first line of standard output and serves until standard input ends.

#include <cstdlib>
#include <iostream>
#include <limits>
#include <memory>
#include <string>

#include "bench/fake_stack.h"
#include "server/http/http_server.h"

int main(int argc, char** argv) {
  using assay::server::HttpServer;
  const int threads = argc > 1 ? std::atoi(argv[1]) : 64;
  const assay::Result<std::unique_ptr<HttpServer>> server =
      HttpServer::open({.hosts = {"127.0.0.1"}, .port = 0, .threads = threads});
  if (!server.ok()) {
    std::cerr << "overhead_server: " << server.error().message << "\n";
    return 1;
  }
  assay::bench::FakeStack stack;
  (*server)->set_ready(*stack.routes);
  std::cout << (*server)->address() << std::endl;
  std::cin.ignore(std::numeric_limits<std::streamsize>::max());
  stack.routes->set_draining();
  (*server)->stop();
  stack.decider->drain(assay::Decider::kNoLimit);
  return 0;
}
