#pragma once
// What the system has to say about listening: files, addresses, sockets left behind.

#include <cstddef>
#include <string>

namespace assay::server {

bool is_unix_socket_path(const std::string& host);
// Removes a socket file on which nobody listens any more, as a server that was killed leaves it. Any other file stays.
void remove_dead_socket(const std::string& path);
// Where clients find a listener, such as "http://[::1]:8080".
std::string address_of(const std::string& host, int port, bool has_tls);
// Lets this process open so many connections and the files it needs besides, if the system allows it. How many
// connections it may have now; at most `wanted`.
std::size_t allow_connections(std::size_t wanted);

}  // namespace assay::server
